/** Which of this shard's people pushes reach, in memory: what the watch and the revocations look at, without a read. */
import { createHash } from 'node:crypto';
import { PUSH_PROVIDERS, type PushAddress, type PushProvider } from '#src/protocol/push/push.ts';
import type { PushRegistration } from '#storage/conversations/push-records.ts';

export class PushRegistry {
  readonly #people = new Map<string, readonly PushRegistration[]>();
  readonly #sessions = new Map<string, string>();
  /** A device's address, as a hash → whose it is: one phone is not to get two people's pushes. */
  readonly #addresses = new Map<string, string>();
  #added: (user: string) => void = () => undefined;

  /** Who is told when pushes begin to reach a person. */
  onAdded(told: (user: string) => void): void {
    this.#added = told;
  }

  /** A person's registrations are these now. */
  show(user: string, registrations: readonly PushRegistration[]): void {
    for (const { sid, address } of this.#people.get(user) ?? []) {
      this.#sessions.delete(sid);
      const name = nameOf(address);
      if (this.#addresses.get(name) === user) this.#addresses.delete(name);
    }
    const isNew = registrations.length > 0 && !this.#people.has(user);
    if (registrations.length === 0) this.#people.delete(user);
    else this.#people.set(user, registrations);
    for (const { sid, address } of registrations) {
      this.#sessions.set(sid, user);
      this.#addresses.set(nameOf(address), user);
    }
    if (isNew) this.#added(user);
  }

  has(user: string): boolean {
    return this.#people.has(user);
  }

  /** Whose session this is, if it has a registration. */
  userOf(sid: string): string | undefined {
    return this.#sessions.get(sid);
  }

  /** Who has this address registered, by its name. */
  holderOf(name: string): string | undefined {
    return this.#addresses.get(name);
  }

  get people(): Iterable<string> {
    return this.#people.keys();
  }

  get size(): number {
    return this.#people.size;
  }

  /** Registrations by provider. */
  get counts(): Record<PushProvider, number> {
    const counts = Object.fromEntries(PUSH_PROVIDERS.map((provider) => [provider, 0])) as Record<PushProvider, number>;
    for (const registrations of this.#people.values()) {
      for (const { address } of registrations) counts[address.provider] += 1;
    }
    return counts;
  }
}

/** An address's name among all: a hash, since the address itself is a secret of its device. */
export function nameOf(address: PushAddress): string {
  const { provider } = address;
  const place =
    provider === 'webpush' ? address.endpoint : `${address.token} ${provider === 'apns' ? (address.topic ?? '') : ''}`;
  return createHash('sha256').update(`${provider} ${place}`).digest('base64url');
}
