/** Passwords: argon2id hashes, and a queue that keeps hashing from taking the server with it (CRD-09). */
import { hash, parseOptions, verify } from '@node-rs/argon2';
import { randomSymbols } from '#src/base/ids.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { assertUncommon } from './common-passwords.ts';

/**
 * Hashes computed at once. Hashing runs on the process's pool of four threads, which the storage commits of every
 * thread share; two leave commits their way.
 */
const HASHES_AT_ONCE = 2;

/**
 * Hashes that wait their turn: at 25 ms each and two at once, the last of them waits 1.6 s. More are refused with
 * `busy`, so that a flood of sign-ins costs sign-ins and nothing else.
 */
export const HASHES_WAITING_MAX = 128;

/** Two passes over the memory that the configuration gives: the OWASP recommendation of 2023 for argon2id. */
const PASSES = 2;

export class Passwords {
  readonly #memoryKib: number;
  readonly #dummy: string;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  private constructor(memoryKib: number, dummy: string) {
    this.#memoryKib = memoryKib;
    this.#dummy = dummy;
  }

  /** Hashing with that much memory (KiB) each. */
  static async make(memoryKib: number): Promise<Passwords> {
    return new Passwords(memoryKib, await hash(randomSymbols(32), { memoryCost: memoryKib, timeCost: PASSES }));
  }

  /**
   * The hash to store of a password that somebody chose for an account.
   * @throws Refusal `password_too_common`, `busy` when too many hashes wait already.
   */
  async hashChosen(password: string, username: string | undefined): Promise<string> {
    assertUncommon(password, username);
    return await this.hash(password);
  }

  /** The hash to store. @throws Refusal `busy` when too many hashes wait already. */
  async hash(password: string): Promise<string> {
    return await this.#inTurn(() => hash(canonical(password), { memoryCost: this.#memoryKib, timeCost: PASSES }));
  }

  /**
   * Whether the password is the one of that hash. Without a hash, which is an unknown person, it costs the same and
   * is never right. @throws Refusal `busy` when too many hashes wait already.
   */
  async verify(password: string, stored: string | undefined): Promise<boolean> {
    const right = await this.#inTurn(() => verify(stored ?? this.#dummy, canonical(password)));
    return right && stored !== undefined;
  }

  /** Whether a stored hash was made with other parameters than those of now, and is to be made anew at sign-in. */
  isOutdated(stored: string): boolean {
    const { memoryCost, timeCost } = parseOptions(stored);
    return memoryCost !== this.#memoryKib || timeCost !== PASSES;
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running < HASHES_AT_ONCE) this.#running += 1;
    else {
      if (this.#waiting.length >= HASHES_WAITING_MAX) throw new Refusal('busy');
      // The one that finishes hands its place over, so `#running` stays as it is.
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}

/** Keyboards write é as one character or as two; both are the same password (RFC 8265, section 4.2). */
function canonical(password: string): string {
  return password.normalize('NFC');
}
