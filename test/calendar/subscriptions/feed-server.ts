/** A server of feeds on this machine, as hostile as it is told to be, and people who follow what it serves. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { SubscriptionView } from '#src/protocol/calendars/calendar-subscriptions.ts';
import type { CalendarView } from '#src/protocol/calendars/calendars.ts';
import { makeCertificate } from '#test/support/certificate.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { until } from '#test/support/waiting.ts';
import { call, makeCalendar } from '../service/calling.ts';

export type Answer = (response: ServerResponse, request: IncomingMessage) => void;

export class FeedServer {
  readonly url: string;
  /** What a server needs to believe it. */
  readonly environment: Readonly<Record<string, string>>;
  /** Paths that were asked for, in the order of their coming. */
  readonly asked: IncomingMessage[] = [];
  readonly #answers = new Map<string, Answer>();
  readonly #server: Server;
  readonly #folder: string;

  constructor(server: Server, folder: string, environment: Readonly<Record<string, string>>) {
    this.#server = server;
    this.#folder = folder;
    this.environment = environment;
    this.url = `https://localhost:${(server.address() as AddressInfo).port}`;
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.asked.push(request);
      const answer = this.#answers.get(request.url ?? '');
      if (answer === undefined) response.writeHead(404).end();
      else answer(response, request);
    });
  }

  static async open({ certificate, key } = makeCertificate(Date.now(), 2)): Promise<FeedServer> {
    const folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
    const file = join(folder, 'certificate.pem');
    writeFileSync(file, certificate);
    const server = createServer({ cert: certificate, key }).listen(0, 'localhost');
    await once(server, 'listening');
    return new FeedServer(server, folder, { NODE_EXTRA_CA_CERTS: file });
  }

  /** What is served under a path from now on: a feed, or whatever an answer does. Answers its address. */
  serve(path: string, answer: Answer | string): string {
    const send: Answer = (response) => response.writeHead(200, { 'content-type': 'text/calendar' }).end(answer);
    this.#answers.set(path, typeof answer === 'string' ? send : answer);
    return `${this.url}${path}`;
  }

  askedFor(path: string): IncomingMessage[] {
    return this.asked.filter(({ url }) => url === path);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Feeds, and a server that follows them over a folder of its own, to be ended and started again. */
export async function feedsOver(t: TestContext) {
  const folder = temporaryFolder(t);
  const feeds = await FeedServer.open();
  t.after(async () => await feeds.close());
  const environment = { ...feeds.environment, PARLEY_ALLOW_PRIVATE_TARGETS: 'true' };
  let running: TestServer | undefined;
  t.after(async () => await running?.stop());
  const start = async () => {
    running = await startServer({ folder, environment });
    return running;
  };
  return { feeds, folder, start };
}

/** An event as a feed has it; `stamp` is what feeds write anew at each request. */
export function vevent(uid: string, title: string, lines: readonly string[] = [], stamp = '20261121T080000Z'): string {
  const head = ['BEGIN:VEVENT', ...(uid === '' ? [] : [`UID:${uid}`]), `DTSTAMP:${stamp}`];
  const when = ['DTSTART:20261123T090000Z', 'DTEND:20261123T100000Z'];
  return [...head, ...when, `SUMMARY:${title}`, ...lines, 'END:VEVENT', ''].join('\r\n');
}

export function feedOf(events: readonly string[], head: readonly string[] = []): string {
  const lines = ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//elsewhere//EN', ...head, ''].join('\r\n');
  return `${lines}${events.join('')}END:VCALENDAR\r\n`;
}

/** Has somebody follow a feed, and waits for the first refresh. */
export async function follow(server: TestServer, who: Person, url: string, form: object = {}) {
  const calendar: CalendarView = await makeCalendar(server, who, { displayname: 'Feed', source: { url }, ...form });
  return { id: calendar.id, state: await settled(server, who, calendar.id) };
}

/** The subscription once nothing of it is under way. */
export async function settled(server: TestServer, who: Person, calendar: string): Promise<SubscriptionView> {
  return await until(
    async () => {
      const reply = await call<SubscriptionView>(server, who, 'GET', `/v1/calendars/${calendar}/subscription`);
      assert.equal(reply.status, 200, reply.text);
      return !reply.body.refreshing && reply.body;
    },
    'the refresh of a feed',
    120_000,
  );
}

/** Has a feed asked for again, and waits for how it went. */
export async function refresh(server: TestServer, who: Person, calendar: string): Promise<SubscriptionView> {
  const reply = await call(server, who, 'POST', `/v1/calendars/${calendar}/subscription/refresh`);
  assert.equal(reply.status, 202, reply.text);
  return await settled(server, who, calendar);
}

/** Titles and etags of what is in a calendar, by title, and where its log of changes stands. */
export async function contents(server: TestServer, who: Person, calendar: string) {
  const entries: Record<string, string> = {};
  let after = '';
  for (;;) {
    const reply = await call<{
      items: { title: string; etag: string }[];
      sync_seq: number;
      next: string;
      more: boolean;
    }>(server, who, 'GET', `/v1/calendars/${calendar}/changes?limit=200${after}`);
    assert.equal(reply.status, 200, reply.text);
    for (const { etag, title } of reply.body.items) entries[title] = etag;
    if (!reply.body.more) return { entries, titles: Object.keys(entries).toSorted(), seq: reply.body.sync_seq };
    after = `&after=${reply.body.next}`;
  }
}
