/**
 * Who of this shard's people has an app open before them, as their actors last said: read by whatever must not wait
 * for an answer, such as the decision whether a push is due (FRM-05). In memory alone.
 */
import type { PresenceState } from '#src/protocol/sockets/events.ts';

interface Watched {
  /** What others were told last. */
  readonly announced: PresenceState;
  readonly devices: ReadonlyMap<string, { readonly awake: boolean }>;
}

export class Attention {
  readonly #people = new Map<string, Watched>();

  /** A person's devices are these; the actor goes on changing them in place. */
  follow(user: string, person: Watched): void {
    if (person.devices.size === 0 && person.announced === 'offline') this.#people.delete(user);
    else this.#people.set(user, person);
  }

  /** Those of `users` who are not offline, by what was announced of them: the events go on from there. */
  announced(users: readonly string[]): { user: string; state: PresenceState }[] {
    return users.flatMap((user) => {
      const state = this.#people.get(user)?.announced ?? 'offline';
      return state === 'offline' ? [] : [{ user, state }];
    });
  }

  /** Everybody who is not offline, by what was announced of them. */
  all(): { user: string; state: PresenceState }[] {
    return this.announced([...this.#people.keys()]);
  }

  /** Whether an app of the person is connected and awake; of one device, if it is named. */
  isAwake(user: string, device?: string): boolean {
    const person = this.#people.get(user);
    if (person === undefined) return false;
    if (device !== undefined) return person.devices.get(device)?.awake === true;
    for (const connection of person.devices.values()) if (connection.awake) return true;
    return false;
  }
}
