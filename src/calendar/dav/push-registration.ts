/**
 * Registrations for pushes (WebDAV Push, 3): POST of a `push-register` to a calendar makes or changes one, DELETE of its URL ends it,
 * and `Push-Dont-Notify` spares one a push about what its own program did.
 */
import { putPush, type PushAddress } from '#src/protocol/push/push.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Untold } from '#storage/calendars/calendar-draft.ts';
import { PUSH_REGISTRATIONS_PER_PERSON_MAX, registrationName } from '#storage/calendars/calendar-registrations.ts';
import { broken, DavRefusal, notFound } from './dav-refusal.ts';
import type { RegistrationForm } from './dav-context.ts';
import { payerOf, type DavAnswer, type DavRequest } from './exchange.ts';
import { readHref, registrationHref, type DavPath } from './paths.ts';
import { readXmlBody } from './request-body.ts';
import { headerOf, type Headers } from './request-preferences.ts';
import { isReadable, type CalendarResource } from './resources.ts';
import { pushName } from './xml/xml-names.ts';
import { childOf, childrenOf, type XmlElement } from './xml/xml-reader.ts';

type RegistrationPath = Extract<DavPath, { kind: 'registration' }>;

/** URLs in one `Push-Dont-Notify`: those behind them are told. */
export const UNTOLD_URLS_MAX = 100;

/** Answers POST to a calendar. @throws DavRefusal */
export async function register(request: DavRequest, resource: CalendarResource): Promise<DavAnswer> {
  const { appPassword, context, origin, viewer: user } = request;
  const form = await readForm(request);
  if (!isReadable(resource)) throw broken(pushName('push-not-available'), 'Whoever reads a calendar is told of it.');
  const calendar = resource.calendar.id;
  let registered: { readonly id: string; readonly expiresAt: number } | undefined;
  try {
    registered = await context.push.register({ user, calendar }, appPassword, form);
  } catch (error) {
    const isOfTarget = error instanceof Refusal && ['field_invalid', 'target_private'].includes(error.code);
    throw isOfTarget ? invalid('Pushes cannot go to this push resource.') : error;
  }
  if (registered === undefined) {
    const text = `A person may have ${PUSH_REGISTRATIONS_PER_PERSON_MAX} registrations.`;
    throw broken(pushName('push-not-available'), text);
  }
  const { expiresAt, id } = registered;
  const location = `${origin}${registrationHref({ user, calendar, id })}`;
  return { status: 204, headers: { location, expires: new Date(expiresAt).toUTCString() } };
}

/** Answers DELETE of a registration. Somebody else's is not there. @throws DavRefusal 404 */
export async function unregister({ context, viewer }: DavRequest, path: RegistrationPath): Promise<DavAnswer> {
  const { calendar, id, user } = path;
  const isEnded = user === viewer && (await context.push.unregister({ calendar, id, user }));
  if (!isEnded) throw notFound();
  return { status: 204 };
}

/** Who hears nothing of what a request changes: registrations of the viewer's, by their URLs. What is no such URL is nobody. */
export function untoldOf(headers: Headers, viewer: string): Untold | undefined {
  const value = headerOf(headers, 'push-dont-notify')?.trim();
  if (value === undefined || value === '') return undefined;
  if (value === '*') return '*';
  const places = [...value.matchAll(/"((?:[^"\\]|\\.)*)"/g)]
    .slice(0, UNTOLD_URLS_MAX)
    .flatMap(([, url = '']) => placeOf(url.replaceAll(/\\(.)/g, '$1'), viewer));
  return places.length === 0 ? undefined : new Set(places.map(registrationName));
}

function placeOf(url: string, viewer: string): RegistrationPath[] {
  try {
    const path = readHref(url);
    return path?.kind === 'registration' && path.user === viewer ? [path] : [];
  } catch (error) {
    if (error instanceof DavRefusal) return [];
    throw error;
  }
}

async function readForm(request: DavRequest): Promise<RegistrationForm> {
  const type = headerOf(request.headers, 'content-type');
  if (type !== undefined && !/^\s*(?:application|text)\/xml\s*(?:;|$)/i.test(type)) {
    throw new DavRefusal(415, 'A registration for pushes is sent as application/xml.');
  }
  const root = await readXmlBody(request.body, payerOf(request));
  if (root?.name !== pushName('push-register')) {
    throw new DavRefusal(400, 'The body of a POST to a calendar is a push-register element.');
  }
  return { target: readTarget(root), ...readTrigger(root), expiresAt: readExpires(root) };
}

function readTarget(root: XmlElement): RegistrationForm['target'] {
  const [subscription, ...more] = childrenOf(root, pushName('subscription')).flatMap(({ children }) => children);
  if (subscription?.name !== pushName('web-push-subscription') || more.length > 0) {
    throw invalid('A registration has one subscription, which is a web-push-subscription.');
  }
  const textOf = (name: string) => childOf(subscription, pushName(name))?.text.trim();
  const encoding = textOf('content-encoding') ?? 'aes128gcm';
  if (encoding !== 'aes128gcm') throw invalid('Pushes are encrypted by aes128gcm.');
  const keyOf = (name: string) => textOf(name)?.replace(/=+$/, '');
  const keys = { p256dh: keyOf('subscription-public-key'), auth: keyOf('auth-secret') };
  const parsed = putPush.safeParse({ provider: 'webpush', endpoint: textOf('push-resource'), keys });
  if (!parsed.success) {
    throw invalid('A subscription has an https push-resource, a subscription-public-key of P-256 and an auth-secret.');
  }
  const { endpoint, keys: read } = parsed.data as Extract<PushAddress, { provider: 'webpush' }>;
  return { endpoint, keys: read };
}

/**
 * What it is told of. How deep is as deep as there is: a depth that is not supported becomes one that is. DAVx5 (4.5) sends no
 * trigger and means all, where the draft would have it refused.
 */
function readTrigger(root: XmlElement): Pick<RegistrationForm, 'isContent' | 'isProperty'> {
  const trigger = childOf(root, pushName('trigger'));
  if (trigger === undefined) return { isContent: true, isProperty: true };
  const has = (name: string) => childOf(trigger, pushName(name)) !== undefined;
  const [isContent, isProperty] = [has('content-update'), has('property-update')];
  if (!isContent && !isProperty) {
    throw broken(pushName('no-supported-trigger'), 'A calendar tells of content-update and property-update.');
  }
  return { isContent, isProperty };
}

/** Milliseconds since 1970; undefined where none is asked for. @throws DavRefusal 400 for what is no instant to come. */
function readExpires(root: XmlElement): number | undefined {
  const text = childOf(root, pushName('expires'))?.text.trim();
  if (text === undefined) return undefined;
  const at = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at) || at <= Date.now()) {
    throw new DavRefusal(400, 'A registration expires in time to come, written as RFC 9110 writes dates.');
  }
  return at;
}

/** IMF-fixdate (RFC 9110, 5.6.7). */
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;

function invalid(text: string): DavRefusal {
  return broken(pushName('invalid-subscription'), text);
}
