/** The routes whose bodies are bytes, of attachments and of rooms' pictures, bound to their handlers, with the same steps before each as the forms of JSON have. */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import {
  ATTACHMENT_ROUTES,
  type AttachmentForm,
  type AttachmentRoute,
} from '#src/protocol/attachments/attachment-routes.ts';
import { ROOM_AVATAR_ROUTES, type RoomAvatarRoute } from '#src/protocol/conversations/room-avatar-routes.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { SpillFile } from '#storage/engine/spill-file.ts';
import { putRoomAvatar, readRoomAvatar, removeRoomAvatar } from '../conversations/room-avatar-handlers.ts';
import type { AttachmentClient } from './attachment-client.ts';
import type { Service } from '../http/caller.ts';
import { readAttachment, readAttachmentLink, readLinkedAttachment, readThumbnail } from './download-handlers.ts';
import type { Exchange } from '../http/exchange.ts';
import type { RouteApp } from '../http/framing.ts';
import { IncomingBody } from '../http/incoming-body.ts';
import { parseQuery } from '../http/parsing.ts';
import { appendUpload, createUpload, discardUpload, readUpload, type ByteCall } from './upload-handlers.ts';
import { readUploadHead } from './upload-headers.ts';

type ByteRoute = AttachmentRoute | RoomAvatarRoute;
type ByteForm = Omit<AttachmentForm, 'method'> & { readonly method: AttachmentForm['method'] | 'put' };

export const BYTE_ROUTES = { ...ATTACHMENT_ROUTES, ...ROOM_AVATAR_ROUTES };

const HANDLERS: Readonly<Record<ByteRoute, (call: ByteCall) => Promise<void>>> = {
  createUpload,
  readUpload,
  appendUpload,
  discardUpload,
  readAttachment,
  readAttachmentLink,
  readLinkedAttachment,
  readThumbnail,
  putRoomAvatar,
  removeRoomAvatar,
  readRoomAvatar,
};

/** What is left of a refused body is read and thrown away up to here, so that the sender hears why; beyond it, cut. */
const DISCARDED_BYTES_MAX = 1024 * 1024;

/** What the surface does for bytes as for everything else. */
export interface ByteRoutesContext {
  readonly service: Service;
  open(res: HttpResponse, req: HttpRequest, route: string): Exchange;
  /** Who is asking; empty for a form that takes no session. @throws Refusal. */
  admit(exchange: Exchange, res: HttpResponse, route: ByteForm): string;
  fail(exchange: Exchange, error: Error, route: string): void;
  /** Requests that are not answered yet. */
  count(by: 1 | -1): void;
}

export function registerByteRoutes(app: RouteApp, client: AttachmentClient, doorway: ByteRoutesContext): void {
  for (const [name, route] of Object.entries<ByteForm>(BYTE_ROUTES)) {
    const method = route.method === 'delete' ? 'del' : route.method;
    app[method](route.path, (res, req) => void serve(client, doorway, name as ByteRoute, route, res, req));
  }
}

async function serve(
  client: AttachmentClient,
  doorway: ByteRoutesContext,
  name: ByteRoute,
  route: ByteForm,
  res: HttpResponse,
  req: HttpRequest,
): Promise<void> {
  const id = route.path.includes(':') ? (req.getParameter(0) ?? '') : '';
  const part = route.path.endsWith(':avatar') ? (req.getParameter(1) ?? '') : '';
  const head = readUploadHead(req);
  const exchange = doorway.open(res, req, name);
  const address = doorway.service.addresses.of(res, exchange.head);
  const hasBody = route.method === 'patch' || route.method === 'post' || route.method === 'put';
  const body = hasBody ? new IncomingBody(res, exchange.cancellation, new SpillFile(client.folder)) : undefined;
  doorway.count(1);
  try {
    const user = doorway.admit(exchange, res, route);
    const query =
      route.query === undefined ? requireNoQuery(exchange.head.query) : parseQuery(route.query, exchange.head.query);
    await HANDLERS[name]({ service: doorway.service, client, exchange, head, body, user, address, id, part, query });
  } catch (error) {
    // What says of itself that it is too much is not waited for.
    const isTooLarge = error instanceof Refusal && error.code === 'body_too_large';
    const isRead = body === undefined || (!isTooLarge && (await body.discard(DISCARDED_BYTES_MAX).catch(() => false)));
    if (!isRead) exchange.closeAfter();
    const isFull = (error as NodeJS.ErrnoException).code === 'ENOSPC';
    const failure = isFull ? new Refusal('storage_full') : (error as Error);
    if (failure instanceof Refusal && name in ATTACHMENT_ROUTES) client.counts.refused(failure.code);
    doorway.fail(exchange, failure, name);
  } finally {
    body?.close();
    doorway.count(-1);
  }
}

/** @throws Refusal `query_invalid`: a parameter that a route does not have would be ignored, so it is refused. */
function requireNoQuery(query: string): undefined {
  const [first] = new URLSearchParams(query).keys();
  if (first !== undefined) throw new Refusal('query_invalid', { field: first });
  return undefined;
}
