/**
 * Tells connected people that their rights changed (CAP-03): whoever's rights are others than when they connected, or than
 * they were told of last, and nobody else. A change of the policies may concern everybody, so all connections of the thread
 * are looked at, a few milliseconds at a turn; changes that come meanwhile are looked at together once it is through.
 */
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { monotonicMillis } from '#actors/runtime/monotonic.ts';
import { unixSeconds } from '#src/base/clock.ts';
import { encodeEvent } from '#src/protocol/sockets/events.ts';
import type { AccountsReader } from '#storage/accounts/accounts.ts';
import type { SocketHub } from '../sockets/socket-hub.ts';
import type { AccountRights } from './account-rights.ts';

/**
 * Longest turn of a look: posts and sockets are served between two. A connection took 1 µs of CPU without rules, 10 with twenty:
 * a fifth of a second for 20,000.
 */
const TURN_MILLIS = 2;
/** Least time between two looks: a hundred groups that are changed one after the other are told of a few times a second. */
const BETWEEN_LOOKS_MILLIS = 200;

/** What the watch of a thread's sockets is made from. */
export interface RightsWatchContext {
  readonly accounts: Pick<AccountsReader, 'directoryRev' | 'refresh'>;
  readonly hub: Pick<SocketHub, 'connections' | 'publishTo'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly rights: Pick<AccountRights, 'stateOf'>;
}

/** Tells people that they themselves changed, in what they may do: `directory.changed` of oneself. */
export function makeRightsWatch({ accounts, hub, now, rights }: RightsWatchContext): RightsWatch {
  return new RightsWatch({
    connections: () => hub.connections(),
    stateOf: (user) => rights.stateOf(user),
    tell: (users) => {
      if (users.length === 0) return;
      accounts.refresh();
      const [rev, ts] = [accounts.directoryRev, unixSeconds(now())];
      for (const user of users) {
        const event = encodeEvent({ type: 'directory.changed', ts }, JSON.stringify({ user, rev }));
        hub.publishTo([user], 'directory.changed', event, undefined);
      }
    },
  });
}

/** A connection of a person. */
export interface Watched {
  readonly user: string;
  /** What `stateOf` said when the person was told last; undefined for who is told nothing, as bots are. */
  rights: string | undefined;
}

export interface RightsWatchOptions {
  /** All connections, as they come and go. */
  readonly connections: () => Iterable<Watched>;
  /** Text that changes when a person's rights do. */
  readonly stateOf: (user: string) => string;
  /** Tells all connections of these people. */
  readonly tell: (users: readonly string[]) => void;
}

export class RightsWatch {
  readonly #options: RightsWatchOptions;
  #isDue = false;
  #isLooking = false;

  constructor(options: RightsWatchOptions) {
    this.#options = options;
  }

  /** Something that rights are judged by is another now. Everybody concerned is told within a second. */
  changed(): void {
    this.#isDue = true;
    if (!this.#isLooking) void this.#look();
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    while (this.#isDue) {
      this.#isDue = false;
      await this.#lookOnce();
      await pause(BETWEEN_LOOKS_MILLIS, undefined, { ref: false });
    }
    this.#isLooking = false;
  }

  async #lookOnce(): Promise<void> {
    const { connections, stateOf, tell } = this.#options;
    const concerned = new Set<string>();
    let began = monotonicMillis();
    for (const connection of connections()) {
      if (connection.rights === undefined) continue;
      const state = stateOf(connection.user);
      if (state !== connection.rights) concerned.add(connection.user);
      connection.rights = state;
      if (monotonicMillis() - began < TURN_MILLIS) continue;
      // Told at the end of each turn, so that nobody waits for the rest.
      tell([...concerned]);
      concerned.clear();
      await nextTurn();
      began = monotonicMillis();
    }
    tell([...concerned]);
  }
}
