/** A coordinator on port 0 over a real accounts file in a temporary folder, and what a client needs to talk to it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { GroupMemberships } from '#src/directory/bookable/group-memberships.ts';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { inspect } from 'node:util';
import type { Revocation, SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import { SessionTokens } from '#src/identity/credentials/session-tokens.ts';
import type { Clock } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import { readConfig } from '#src/config.ts';
import { makeCoordinator } from '#src/server/coordinator.ts';
import { originsOf } from '#src/http/cors.ts';
import { QuotaGate } from '#src/limits/quotas.ts';
import { readQuotaLimits } from '#src/settings/quota-settings.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import type { MeetingNews } from '#src/protocol/meetings/meetings.ts';
import type { PolicySnapshot } from '#src/protocol/directory/policy-decision.ts';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { Accounts } from '#storage/accounts/accounts.ts';
import { openFolder } from '#storage/engine/folder.ts';
import { limiterBy } from '#test/support/limiter.ts';

/** 2026-11-21T08:00:00Z, in milliseconds. */
export const START = 1_795_248_000_000;

/** A clock that stands until it is moved. */
export class HandClock implements Clock {
  #millis = START;

  now(): number {
    return this.#millis;
  }

  advance(seconds: number): void {
    this.#millis += seconds * 1000;
  }
}

export type Announced =
  | { readonly what: 'revoked'; readonly revocations: readonly Revocation[] }
  | { readonly what: 'renewed'; readonly sid: string; readonly exp: number }
  | { readonly what: 'reused'; readonly sid: string; readonly user: string }
  | { readonly what: 'directory'; readonly user: string; readonly rev: number }
  | { readonly what: 'avatar'; readonly user: string; readonly rev: number }
  | { readonly what: 'group'; readonly group: string; readonly rev: number }
  | { readonly what: 'unit'; readonly unit: string }
  | { readonly what: 'policies'; readonly snapshot: PolicySnapshot }
  | { readonly what: 'recovery'; readonly inviter: string }
  | { readonly what: 'meeting'; readonly people: readonly string[]; readonly news: MeetingNews };

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // The shape is what a test is about to assert.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: any;
}

export const PASSWORD = 'a long enough password';

export function temporaryFolder(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export async function startCoordinator(context: TestContext, settings: Record<string, string> = {}) {
  const folder = temporaryFolder(context);
  const config = readConfig({ PARLEY_DATA: folder, PARLEY_PASSWORD_MEMORY_KIB: '64', ...settings });
  openFolder(folder, 4, '2026-11-21T08:00:00.000Z');
  const accounts = await Accounts.open(folder);
  const tokens = new SessionTokens(accounts.signingKeys('session_keys'));
  const clock = new HandClock();
  const announced: Announced[] = [];
  const announcer: SessionAnnouncer = {
    revoked: async (revocations) => void announced.push({ what: 'revoked', revocations }),
    renewed: ({ sid, exp }) => announced.push({ what: 'renewed', sid, exp }),
    directoryChanged: (user, rev) => announced.push({ what: 'directory', user, rev }),
    avatarChanged: (user, rev) => announced.push({ what: 'avatar', user, rev }),
    groupChanged: (group, rev) => announced.push({ what: 'group', group, rev }),
    unitChanged: (unit) => announced.push({ what: 'unit', unit }),
    policiesChanged: async (snapshot) => void announced.push({ what: 'policies', snapshot }),
    guestRecoveryRequested: (inviter) => announced.push({ what: 'recovery', inviter }),
    meetingChanged: (people, news) => announced.push({ what: 'meeting', people, news }),
  };
  /** Conversations by id: who is in them. Rooms of meetings appear here, and a test may put in what it needs. */
  const rooms = new Map<string, Set<string>>();
  const logged: string[] = [];
  const write = (message: string, fields: object = {}) =>
    void logged.push(inspect({ ...fields, message }, { depth: 9 }));
  const log: Logger = { error: write, warn: write };
  const refused: string[] = [];
  const answered: [route: string | undefined, status: number, clientVersion: number][] = [];
  const coordinator = await makeCoordinator({
    messagingUrl: () => '',
    calendarUrl: () => '',
    config,
    accounts,
    tokens,
    memberships: new GroupMemberships(accounts),
    announcer,
    sessionReused: ({ sid, user }) => void announced.push({ what: 'reused', sid, user }),
    directorySignIn: () => undefined,
    secondFactors: () => undefined,
    limiter: limiterBy(clock, config),
    quotas: new QuotaGate({ limits: readQuotaLimits(accounts, config), now: () => clock.now(), near: () => {} }),
    log,
    clock,
    sharing: (one) => (other) => [...rooms.values()].some((people) => people.has(one) && people.has(other)),
    hostedRooms: {
      requireMayAdd: () => undefined,
      add: async (room, _host, guest) => void rooms.get(room)?.add(guest),
    },
    rooms: {
      make: async (_title, host, participants) => {
        const id = makeId('c', clock.now());
        rooms.set(id, new Set([host, ...participants]));
        return id;
      },
      invite: async (conversation, _host, user) => void rooms.get(conversation)?.add(user),
      remake: async (conversation, _title, host) => void rooms.set(conversation, new Set([host])),
      seat: async (conversation, user) => void rooms.get(conversation)?.add(user),
      standing: (conversation, user) => {
        const role = rooms.get(conversation)?.has(user) === true ? 'member' : undefined;
        return { room: 'there', role, wasRemoved: false };
      },
      endCalls: async () => undefined,
    },
    health: async (accept) => ({
      headers: { 'content-type': 'application/json', vary: 'Accept' },
      body: JSON.stringify({ accept }),
    }),
    allowsOrigin: (origin) => originsOf(config, port).has(origin),
    telemetry: { refused: (code) => refused.push(code), answered: (...figures) => answered.push(figures) },
  });
  await coordinator.app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = coordinator.app.server.address() as AddressInfo;
  context.after(async () => {
    await coordinator.app.close();
    await accounts.close();
  });

  const call = async (method: string, path: string, init: RequestInit = {}): Promise<Answer> => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, ...init });
    const text = await answer.text();
    const isJson = answer.headers.get('content-type')?.startsWith('application/json') === true;
    return { status: answer.status, headers: answer.headers, text, json: isJson ? JSON.parse(text) : undefined };
  };
  const post = async (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
    await call('POST', path, {
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
    });
  const withToken = async (path: string, token: string): Promise<Answer> =>
    await call('POST', path, { headers: { authorization: `Bearer ${token}` } });
  const login = async (username: string, more: object = {}): Promise<Session> =>
    (await post('/v1/auth/login', { username, password: PASSWORD, ...more })).json as Session;
  return {
    ...coordinator,
    accounts,
    answered,
    announced,
    announcer,
    call,
    clock,
    config,
    folder,
    log,
    logged,
    login,
    port,
    post,
    refused,
    rooms,
    tokens,
    withToken,
  };
}

/** Sends bytes on a bare connection and answers everything that came back until the other end closed. */
export async function sendRaw(port: number, bytes: string | Buffer): Promise<string> {
  const { connect } = await import('node:net');
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.setEncoding('utf8');
  socket.on('data', (text: string) => (received += text));
  // A connection that is cut while this end still writes: what was received before counts.
  socket.on('error', () => {});
  socket.on('close', () => resolve(received));
  socket.write(bytes);
  return await promise;
}
