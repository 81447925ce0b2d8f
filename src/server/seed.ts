/**
 * People with open sessions and rooms for them, for load tests: real accounts in every way, with one password that is
 * hashed once, because a thousand argon2id hashes would take longer than the test.
 */
import type { Passwords } from '#src/identity/credentials/passwords.ts';
import type { SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import type { SessionTokens } from '#src/identity/credentials/session-tokens.ts';
import type { Clock } from '#src/base/clock.ts';
import { randomSymbols } from '#src/base/ids.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { addPerson } from '#src/directory/people.ts';
import { openSession } from '#src/identity/device-sessions.ts';

/** Life of a seeded session's only token, and the most there is: a load test does not renew. 30 days, in seconds. */
const SEEDED_SESSION_SECONDS = 30 * 86_400;

/** People in one commit: some hundred kilobytes, written in a few milliseconds. */
const PEOPLE_PER_COMMIT = 1_000;

export interface SeededPerson {
  readonly username: string;
  readonly password: string;
  readonly token: string;
  readonly device_id: string;
}

/** A room to be made; the first of its members owns it. */
export interface RoomPlan {
  readonly title: string;
  readonly members: readonly string[];
}

export interface SeededRoom {
  readonly id: string;
  readonly members: readonly string[];
}

export interface Seeded {
  readonly people: readonly SeededPerson[];
  readonly rooms: readonly SeededRoom[];
}

/** How many of each; a room has `members` of the people. */
export interface SeedSize {
  readonly people: number;
  readonly rooms: number;
  readonly members: number;
}

export interface SeederOptions {
  readonly accounts: Accounts;
  readonly passwords: Passwords;
  readonly tokens: SessionTokens;
  readonly announcer: SessionAnnouncer;
  readonly clock: Clock;
  /** Makes rooms and answers their ids in the same order. */
  readonly makeRooms: (plans: readonly RoomPlan[]) => Promise<readonly string[]>;
}

export class Seeder {
  readonly #options: SeederOptions;

  constructor(options: SeederOptions) {
    this.#options = options;
  }

  /** Adds people `load-00001` and on, behind those of an earlier seed, and rooms of them. */
  async seed(size: SeedSize): Promise<Seeded> {
    const people = await this.#addPeople(size.people);
    const names = people.map(({ username }) => username);
    const plans = planRooms(names, size);
    const ids = plans.length === 0 ? [] : await this.#options.makeRooms(plans);
    return { people, rooms: plans.map(({ members }, at) => ({ id: ids[at] as string, members })) };
  }

  async #addPeople(count: number): Promise<SeededPerson[]> {
    const { accounts, announcer, passwords } = this.#options;
    const password = randomSymbols(24);
    const passwordHash = await passwords.hash(password);
    const people: SeededPerson[] = [];
    for (let number = this.#firstFree(); people.length < count;) {
      const usernames = Array.from({ length: Math.min(PEOPLE_PER_COMMIT, count - people.length) }, () =>
        nameOf(number++),
      );
      const added = await accounts.change((draft) =>
        usernames.map((username) => this.#addPerson(draft, username, passwordHash)),
      );
      for (const { rev, ...person } of added) {
        people.push({ ...person, password });
        announcer.directoryChanged(person.username, rev);
      }
    }
    return people;
  }

  #addPerson(draft: AccountsDraft, username: string, passwordHash: string) {
    const now = this.#options.clock.now();
    const rev = addPerson(draft, { username, passwordHash, role: 'person', now });
    const device = { name: 'seed', platform: 'test' };
    const opened = openSession(draft, username, {
      device,
      deviceId: undefined,
      now,
      renewSeconds: SEEDED_SESSION_SECONDS,
    });
    const { deviceId, session } = opened;
    const claims = {
      sub: username,
      dev: deviceId,
      sid: session.sid,
      iat: session.iat,
      exp: session.rnw,
      rnw: session.rnw,
    };
    return { username, token: this.#options.tokens.sign(claims), device_id: deviceId, rev };
  }

  #firstFree(): number {
    let number = 1;
    while (this.#options.accounts.person(nameOf(number)) !== undefined) number += 1;
    return number;
  }
}

function nameOf(number: number): string {
  return `load-${String(number).padStart(5, '0')}`;
}

/** Each room takes the people behind those of the room before, from the start again at the end. */
function planRooms(names: readonly string[], { rooms, members }: SeedSize): RoomPlan[] {
  return Array.from({ length: rooms }, (_, room) => ({
    title: `Load room ${room + 1}`,
    members: Array.from({ length: members }, (_unused, at) => names[(room * members + at) % names.length] as string),
  }));
}
