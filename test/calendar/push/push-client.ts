/** A calendar program that wants to be told of changes (draft-bitfire-webdav-push): what DAVx5 sends, and what its push service gets. */
import assert from 'node:assert/strict';
import { readXml, childOf, type XmlElement } from '#src/calendar/dav/xml/xml-reader.ts';
import { dav, pushName } from '#src/calendar/dav/xml/xml-names.ts';
import { Subscription, type Asked, type LoopbackProvider } from '#test/push/loopback-provider.ts';
import type { Person, TestServer } from '#test/support/server.ts';
import { appPassword, eventText } from '../service/calling.ts';

export const PUSH_NS = 'xmlns="https://bitfire.at/webdav-push" xmlns:D="DAV:"';

/** Told of everything, by no word: DAVx5 (4.5) sends no trigger. */
export const NO_TRIGGER = '';
export const CONTENT = '<trigger><content-update><D:depth>1</D:depth></content-update></trigger>';
export const PROPERTY = '<trigger><property-update><D:depth>0</D:depth></property-update></trigger>';

/** What a push said. */
export interface Told {
  readonly topic: string | undefined;
  /** Undefined where it says nothing of the content; empty where it names no token. */
  readonly syncToken: string | undefined;
  readonly isProperty: boolean;
  readonly asked: Asked;
}

export interface Registered {
  readonly subscription: Subscription;
  readonly location: string;
  readonly expires: number;
}

let names = 0;

export class PushClient {
  readonly user: string;
  readonly #server: TestServer;
  readonly #provider: LoopbackProvider;
  readonly #headers: Readonly<Record<string, string>>;

  private constructor(
    user: string,
    parts: { server: TestServer; provider: LoopbackProvider; headers: Record<string, string> },
  ) {
    this.user = user;
    this.#server = parts.server;
    this.#provider = parts.provider;
    this.#headers = parts.headers;
  }

  /** A program of a person's, with an app password of its own. */
  static async of(server: TestServer, provider: LoopbackProvider, who: Person): Promise<PushClient> {
    return new PushClient(who.username, { server, provider, headers: await appPassword(server, who) });
  }

  get home(): string {
    return `/dav/calendars/${this.user}/`;
  }

  /** The same program at a server that was started again. */
  at(server: TestServer): PushClient {
    return new PushClient(this.user, { server, provider: this.#provider, headers: { ...this.#headers } });
  }

  async call(method: string, path: string, body?: string, headers: Record<string, string> = {}): Promise<Response> {
    const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/xml; charset=utf-8' };
    const url = path.startsWith('http') ? path : `${this.#server.calendar}${path}`;
    return await fetch(url, {
      method,
      headers: { ...this.#headers, ...type, ...headers },
      ...(body === undefined ? {} : { body }),
    });
  }

  /** The properties of the prop element of a PROPFIND, by name; of depth 0. */
  async properties(path: string, asked: string): Promise<ReadonlyMap<string, XmlElement>> {
    const body = `<D:propfind ${PUSH_NS}><D:prop>${asked}</D:prop></D:propfind>`;
    const reply = await this.call('PROPFIND', path, body, { depth: '0' });
    assert.equal(reply.status, 207);
    const root = readXml(Buffer.from(await reply.text()));
    const found = new Map<string, XmlElement>();
    for (const propstat of childOf(root, dav('response'))?.children ?? []) {
      if (!/ 200 /.test(childOf(propstat, dav('status'))?.text ?? '')) continue;
      for (const property of childOf(propstat, dav('prop'))?.children ?? []) found.set(property.name, property);
    }
    return found;
  }

  async make(name: string): Promise<string> {
    const path = `${this.home}${name}/`;
    assert.equal((await this.call('MKCALENDAR', path)).status, 201);
    return path;
  }

  async put(path: string, name: string, headers: Record<string, string> = {}): Promise<void> {
    const all = { 'content-type': 'text/calendar', ...headers };
    const reply = await this.call('PUT', `${path}${name}.ics`, eventText(name, [`LOCATION:${names++}`]), all);
    assert.ok(reply.ok, await reply.text());
  }

  async rename(path: string, name: string, headers: Record<string, string> = {}): Promise<void> {
    const set = `<D:set><D:prop><D:displayname>${name}</D:displayname></D:prop></D:set>`;
    const reply = await this.call('PROPPATCH', path, `<D:propertyupdate ${PUSH_NS}>${set}</D:propertyupdate>`, headers);
    assert.equal(reply.status, 207);
  }

  subscription(): Subscription {
    names += 1;
    return new Subscription(`${this.#provider.url}/up/${names}/`);
  }

  /** A registration as it is sent; parts of it may be another text. */
  form(
    subscription: Subscription,
    { trigger = NO_TRIGGER, expires = '' }: { trigger?: string; expires?: string } = {},
  ) {
    const { endpoint, keys } = subscription.address;
    const of = `<push-resource>${endpoint}</push-resource><subscription-public-key type="p256dh">${keys.p256dh}</subscription-public-key><auth-secret>${keys.auth}</auth-secret>`;
    const until = expires === '' ? '' : `<expires>${expires}</expires>`;
    return `<push-register ${PUSH_NS}><subscription><web-push-subscription>${of}</web-push-subscription></subscription>${trigger}${until}</push-register>`;
  }

  /** Registers a subscription, a new one where none is given, and answers where it is ended. */
  async register(
    path: string,
    {
      subscription = this.subscription(),
      ...form
    }: { subscription?: Subscription; trigger?: string; expires?: string } = {},
  ): Promise<Registered> {
    const reply = await this.call('POST', path, this.form(subscription, form));
    assert.equal(reply.status, 204, await reply.text());
    const { headers } = reply;
    const location = headers.get('location') ?? '';
    return { subscription, location, expires: Date.parse(headers.get('expires') ?? '') };
  }

  /** What a subscription was told so far. */
  told({ subscription }: Pick<Registered, 'subscription'>): Told[] {
    const { pathname } = new URL(subscription.endpoint);
    return this.#provider.asked.filter(({ path }) => path === pathname).map((asked) => toldOf(subscription, asked));
  }

  /** What it was told, once that is so much. */
  async toldTimes(registered: Pick<Registered, 'subscription'>, times: number): Promise<Told[]> {
    await this.#provider.askedOn(new URL(registered.subscription.endpoint).pathname, times);
    return this.told(registered);
  }
}

function toldOf(subscription: Subscription, asked: Asked): Told {
  const root = readXml(Buffer.from(subscription.textOf(asked.body)));
  assert.equal(root.name, pushName('push-message'));
  const content = childOf(root, pushName('content-update'));
  return {
    topic: childOf(root, pushName('topic'))?.text,
    syncToken: content === undefined ? undefined : (childOf(content, dav('sync-token'))?.text ?? ''),
    isProperty: childOf(root, pushName('property-update')) !== undefined,
    asked,
  };
}
