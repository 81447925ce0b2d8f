/**
 * litmus, the test suite of WebDAV servers. It puts plain files into plain collections, and here are calendars with
 * objects. So something stands between the two that dresses each of its files as a calendar object, each of its
 * collections as a calendar, and nothing else: conditions, statuses, properties and conflicts are the server's.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runProgram, type Account } from './account.ts';

/**
 * What cannot hold, with its reason: a calendar holds no collections and takes the place of no object, and is neither
 * copied nor moved. All else must pass.
 */
const NOT_OF_CALENDARS: Readonly<Record<string, readonly string[]>> = {
  basic: [],
  copymove: ['copy_overwrite', 'copy_coll', 'copy_shallow', 'move', 'move_coll'],
  props: [],
  http: [],
};

const MAKE_CALENDAR =
  '<mkcol xmlns="DAV:"><set><prop><resourcetype><collection/><C:calendar xmlns:C="urn:ietf:params:xml:ns:caldav"/></resourcetype></prop></set></mkcol>';

/** A file as an object. Copies of one file have one UID, as copies have, and so each lies in a calendar of its own. */
function dressed(name: string, bytes: Buffer): string {
  const uid = encodeURIComponent(name.replace(/(?:src|dest|2)$/, ''));
  const time = 'DTSTAMP:20260101T000000Z\r\nDTSTART:20260101T000000Z';
  const inner = `UID:${uid}\r\n${time}\r\nX-FILE:${bytes.toString('base64')}`;
  return `BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Test//EN\r\nBEGIN:VEVENT\r\n${inner}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n`;
}

const CALENDARS = ['litmus', 'litmus.dest', 'litmus.2'] as const;
const calendarOf = (file: string): string => `litmus${/(?:dest|2)$/.exec(file)?.[0].replace(/^/, '.') ?? ''}`;

/** What stands between: one run of litmus at a time. */
class Dresser {
  readonly #account: Account;
  /** Collections inside the one that litmus works in. */
  readonly #collections = new Set<string>();

  constructor(account: Account) {
    this.#account = account;
  }

  /** Where on the server a path of litmus lies. */
  #placeOf(path: string): string {
    const [pathname = '', ...rest] = path.split(/(?=[?#])/);
    const [, , name, ...inner] = pathname.replace(/\/$/, '').split('/');
    const home = `/dav/calendars/${this.#account.user}`;
    const end = pathname.endsWith('/') ? '/' : '';
    if (name === undefined) return `${home}/litmus/`;
    const isCollection = end === '/' || inner.length > 0 || this.#collections.has(name);
    const own = isCollection ? [`litmus.${name}`, ...inner] : [calendarOf(decodeURIComponent(name)), name];
    return `${home}/${own.join('/')}${end}${rest.join('')}`;
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '/' } = request;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const name = /^\/litmus\/([^/?#]+)\/?$/.exec(url)?.[1];
    const isWhole = /^\/litmus\/?$/.test(url) && (method === 'MKCOL' || method === 'DELETE');
    let place = this.#placeOf(url);
    if (method === 'MKCOL' && name !== undefined) {
      const file = this.#placeOf(`/litmus/${name}`);
      if ((await this.#ask('HEAD', file, request)).ok) place = file;
    }
    const paths = isWhole ? CALENDARS.map((calendar) => place.replace(/litmus\/$/, `${calendar}/`)) : [place];
    const answers = [];
    for (const path of paths) answers.push(await this.#ask(method, path, request, body));
    const [answered] = answers as [Response];
    if (name !== undefined && answered.ok) {
      if (method === 'MKCOL') this.#collections.add(name);
      if (method === 'DELETE') this.#collections.delete(name);
    }
    const text = (await answered.text()).replaceAll(place, url);
    const file = /^X-FILE:(.*)\r$/m.exec(text)?.[1];
    const sent = file === undefined ? text : Buffer.from(file, 'base64');
    const kept = [...answered.headers].filter(
      ([key]) => !/^(?:content-length|transfer-encoding|connection)$/.test(key),
    );
    response.writeHead(answered.status, { ...Object.fromEntries(kept), 'content-length': Buffer.byteLength(sent) });
    response.end(method === 'HEAD' ? undefined : sent);
  }

  async #ask(method: string, path: string, from: IncomingMessage, body?: Buffer): Promise<Response> {
    const { server } = this.#account;
    const headers = new Headers();
    for (const [key, value] of Object.entries(from.headers)) {
      if (!/^(?:host|content-length|connection|keep-alive|te|expect|transfer-encoding)$/.test(key))
        headers.set(key, String(value));
    }
    const destination = /^https?:\/\/[^/]*(.*)$/.exec(headers.get('destination') ?? '')?.[1];
    if (destination !== undefined) headers.set('destination', `${server.calendar}${this.#placeOf(destination)}`);
    let sent: string | Uint8Array<ArrayBuffer> | undefined;
    if (body !== undefined && body.length > 0) sent = new Uint8Array(body);
    if (method === 'PUT') {
      headers.set('content-type', 'text/calendar');
      sent = dressed(decodeURIComponent(path.split('/').at(-1) ?? ''), body ?? Buffer.alloc(0));
    }
    if (method === 'MKCOL' && sent === undefined) sent = MAKE_CALENDAR;
    return await fetch(`${server.calendar}${path}`, { method, headers, ...(sent === undefined ? {} : { body: sent }) });
  }
}

/** Runs the suites, and answers how much of each passed. */
export async function litmus(account: Account): Promise<string> {
  const dresser = new Dresser(account);
  const proxy = createServer((request, response) => {
    dresser.answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  try {
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/`;
    const said: string[] = [];
    for (const [suite, exempt] of Object.entries(NOT_OF_CALENDARS)) {
      const { output } = await runProgram(account, `/usr/libexec/litmus/${suite}`, [
        ...['--htdocs', '/usr/share/litmus/htdocs', url, account.user, account.password],
      ]);
      const results = [...output.matchAll(/^\s*\d+\. (\w+)\.+ (pass|FAIL|SKIPPED|WARNING)\b/gm)];
      const failed = results.flatMap(([, name = '', result]) =>
        result === 'FAIL' || result === 'SKIPPED' ? [name] : [],
      );
      assert.deepEqual(failed, exempt, output);
      said.push(`${suite} ${results.length - failed.length} of ${results.length}`);
    }
    return said.join(', ');
  } finally {
    proxy.close();
    proxy.closeAllConnections();
  }
}
