/** PUT, GET and DELETE /v1/push: where the session's own device is reached while no app of its person is awake. */
import { ECDH } from 'node:crypto';
import { formatInstant } from '#src/base/time.ts';
import { checkedHost, isTargetUrl, type PrivateTargets } from '#src/outgoing/targets.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { PushAddress } from '#src/protocol/push/push.ts';
import { readPushRegistration, type PushRegistration } from '#storage/conversations/push-records.ts';
import { ask, type ClientRequest, type Handler, type Reply } from '../http/caller.ts';

export const putPush: Handler = async (request) => {
  const { device, service, session, user } = request;
  // Bots are turned away before; whoever else calls has a session.
  if (session === undefined) throw new Refusal('right_missing');
  const address = request.body as PushAddress;
  checkAddress(address, service.config.allowPrivateTargets);
  const { sid, until } = session;
  const registration: PushRegistration = { device, sid, until, at: service.now(), address };
  await ask(request, `push:${user}`, { kind: 'register', registration });
  service.pushes.announceAddress(user, address);
  return replyOf(request, registration);
};

export const readPush: Handler = (request) => {
  const environment = request.service.lanes.read(request.user);
  environment.refresh();
  return replyOf(request, readPushRegistration(environment.tables, request.user, request.device));
};

export const deletePush: Handler = async (request) => {
  await ask(request, `push:${request.user}`, { kind: 'unregister', device: request.device });
  return { status: 204, json: '' };
};

function replyOf({ service, session }: ClientRequest, registration: PushRegistration | undefined): Reply {
  const isOwn = registration !== undefined && registration.sid === session?.sid;
  const registered = isOwn
    ? { provider: registration.address.provider, registered_at: formatInstant(registration.at) }
    : null;
  return { status: 200, json: JSON.stringify({ registered, ...service.pushes.offered }) };
}

/**
 * A subscription names the host that the server is to connect to, so it is judged like any other such host; where its
 * name leads is judged again at every connection.
 * @throws Refusal `field_invalid`, `target_private`.
 */
function checkAddress(address: PushAddress, allowPrivateTargets: PrivateTargets): void {
  if (address.provider !== 'webpush') return;
  if (!isTargetUrl(address.endpoint, ['https:'])) throw new Refusal('field_invalid', { field: 'endpoint' });
  checkedHost(new URL(address.endpoint), allowPrivateTargets, 'endpoint');
  try {
    ECDH.convertKey(address.keys.p256dh, 'prime256v1', 'base64url');
  } catch {
    throw new Refusal('field_invalid', { field: 'keys.p256dh' });
  }
}
