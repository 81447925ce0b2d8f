/** POST: a question to the outbox, or a registration for pushes at a calendar. */
import { ALLOWED } from './compliance.ts';
import { DavRefusal } from './dav-refusal.ts';
import type { DavAnswer, DavRequest } from './exchange.ts';
import { askOutbox } from './outbox.ts';
import { register } from './push-registration.ts';
import { findResource } from './resources.ts';

/** Answers POST. @throws DavRefusal */
export async function post(request: DavRequest): Promise<DavAnswer> {
  const resource = findResource(request.context, request.viewer, request.path);
  if (resource.kind === 'outbox') return await askOutbox(request);
  if (resource.kind === 'calendar') return await register(request, resource);
  const others = ALLOWED.split(', ').filter((method) => method !== 'POST');
  throw new DavRefusal(405, 'The outbox and calendars take POST.', { headers: { allow: others.join(', ') } });
}
