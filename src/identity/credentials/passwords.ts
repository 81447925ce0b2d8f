/** Passwords: argon2id hashes, and a queue that keeps hashing from taking the server with it (CRD-09). */
import { availableParallelism } from 'node:os';
import { hash, parseOptions, verify } from '@node-rs/argon2';
import { randomSymbols } from '#src/base/ids.ts';
import { FairQueue } from '#src/limits/fair-queue.ts';
import { assertGoodPassword } from './password-policy.ts';

/**
 * Hashes computed at once. Hashing runs on the process's pool of four threads, which the storage commits of every
 * thread share; two leave commits their way. A machine of fewer than four cores computes one: two would share the core
 * that messages need, and each take twice as long.
 */
export const HASHES_AT_ONCE = availableParallelism() < 4 ? 1 : 2;

/**
 * Hashes that wait their turn: at 25 ms each and two at once, the last of them waits 1.6 s; 3.2 s where there is one. Addresses are served in
 * turn, and for one more the last of the address with the most is refused with `busy`, so that a flood of sign-ins
 * costs its sender.
 */
export const HASHES_WAITING_MAX = 128;

/** Two passes over the memory that the configuration gives: the OWASP recommendation of 2023 for argon2id. */
const PASSES = 2;

/** Whose turn a hash is in. */
export interface HashTurn {
  /** Whom it is done for: an address, or the server itself. */
  readonly key: string;
  /** Whether it goes before all that do not. */
  readonly goesFirst: boolean;
}

/** For what people of the installation have done by commands and in the console, one at a time. */
const OWN_TURN: HashTurn = { key: '', goesFirst: false };

export class Passwords {
  readonly #memoryKib: number;
  readonly #dummy: string;
  readonly #queue = new FairQueue({ atOnce: HASHES_AT_ONCE, waitingMax: HASHES_WAITING_MAX });

  private constructor(memoryKib: number, dummy: string) {
    this.#memoryKib = memoryKib;
    this.#dummy = dummy;
  }

  /** Hashing with that much memory (KiB) each. */
  static async make(memoryKib: number): Promise<Passwords> {
    return new Passwords(memoryKib, await hash(randomSymbols(32), { memoryCost: memoryKib, timeCost: PASSES }));
  }

  /** Whether a hash is under way, for which somebody waits. */
  get isBusy(): boolean {
    return this.#queue.size > 0;
  }

  /**
   * The hash to store of a password that somebody chose for an account, whose owner is called `names`.
   * @throws Refusal `password_too_short`, `password_too_common`, `password_names_you` with the field; `busy` when too
   * many hashes wait already.
   */
  async hashChosen(password: string, names: readonly string[], turn: HashTurn = OWN_TURN): Promise<string> {
    assertGoodPassword(password, names);
    return await this.hash(password, turn);
  }

  /** The hash to store. @throws Refusal `busy` when too many hashes wait already. */
  async hash(password: string, turn: HashTurn = OWN_TURN): Promise<string> {
    return await this.#inTurn(turn, () => hash(canonical(password), { memoryCost: this.#memoryKib, timeCost: PASSES }));
  }

  /**
   * Whether the password is the one of that hash. Without a hash, which is an unknown person, it costs the same and
   * is never right. @throws Refusal `busy` when too many hashes wait already.
   */
  async verify(password: string, stored: string | undefined, turn: HashTurn = OWN_TURN): Promise<boolean> {
    const right = await this.#inTurn(turn, () => verify(stored ?? this.#dummy, canonical(password)));
    return right && stored !== undefined;
  }

  /** Whether a stored hash was made with other parameters than those of now, and is to be made anew at sign-in. */
  isOutdated(stored: string): boolean {
    const { memoryCost, timeCost } = parseOptions(stored);
    return memoryCost !== this.#memoryKib || timeCost !== PASSES;
  }

  async #inTurn<T>({ goesFirst, key }: HashTurn, work: () => Promise<T>): Promise<T> {
    return await this.#queue.run(key, work, goesFirst);
  }
}

/** Keyboards write é as one character or as two; both are the same password (RFC 8265, section 4.2). */
function canonical(password: string): string {
  return password.normalize('NFC');
}
