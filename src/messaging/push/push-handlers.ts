/** PUT, GET and DELETE /v1/push: where the session's own device is reached while no app of its person is awake. */
import { formatInstant } from '#src/base/time.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { PushAddress } from '#src/protocol/push/push.ts';
import { assertWebPushTarget } from '#src/push/web-push.ts';
import { readPushRegistration, type PushRegistration } from '#storage/conversations/push-records.ts';
import { ask, type ClientRequest, type Handler, type Reply } from '../http/caller.ts';

export const putPush: Handler = async (request) => {
  const { device, service, session, user } = request;
  // Bots are turned away before; whoever else calls has a session.
  if (session === undefined) throw new Refusal('right_missing');
  const address = request.body as PushAddress;
  if (address.provider === 'webpush') assertWebPushTarget(address, service.config.allowPrivateTargets);
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
