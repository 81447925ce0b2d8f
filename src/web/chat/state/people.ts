/** What people are called and look like, for screens: read from the directory when first shown, and again when it changed. */
import type { ParleyClient } from '#src/client/parley-client.ts';
import type { Known } from '#src/client/directory.ts';
import type { Presence } from '../../kit/person-avatar.tsx';
import { harmlessName } from '../../kit/harmless-text.ts';
import { Observable, useObserved } from '../../kit/observable.ts';
import { KeptNames } from './kept-names.ts';

/** Pictures held for screens; who was shown longest ago goes first, and is read again. */
const PICTURES_KEPT_MAX = 300;

export class People extends Observable {
  readonly #client: ParleyClient;
  /** The last that was known, so that a name does not blink while it is asked for again. */
  readonly #shown = new Map<string, Known>();
  readonly #asked = new Set<string>();
  readonly #names: KeptNames;
  readonly #pictures = new Map<string, string | undefined>();

  constructor(client: ParleyClient) {
    super();
    this.#client = client;
    this.#names = new KeptNames(client.user);
    client.on('directory.changed', ({ data }) => this.#askAgain([data.user]));
    client.on('caught-up', () => this.#askAgain([...this.#shown.keys()]));
    client.on('presence', () => this.changed());
  }

  /** Asks for who is not known yet. */
  entryOf(user: string): Known | undefined {
    if (!this.#asked.has(user)) this.#ask(user);
    return this.#shown.get(user);
  }

  nameOf(user: string): string {
    const entry = this.entryOf(user);
    const name = entry === undefined ? this.#names.nameOf(user) : entry?.display_name;
    return harmlessName(name ?? user, user);
  }

  presenceOf(user: string): Presence {
    return this.#client.presences.of(user);
  }

  /** The address of a person's picture inside this page; undefined while there is none. */
  pictureOf(user: string): string | undefined {
    const avatar = this.entryOf(user)?.avatar;
    if (avatar === undefined) return undefined;
    const key = `${user}/${avatar}`;
    if (!this.#pictures.has(key)) void this.#readPicture(user, avatar, key);
    return this.#pictures.get(key);
  }

  #askAgain(users: readonly string[]): void {
    for (const user of users) if (this.#asked.has(user)) this.#ask(user);
  }

  #ask(user: string): void {
    this.#asked.add(user);
    this.#client.directory.read(user).then(
      (known) => {
        this.#shown.set(user, known);
        this.#names.learn(user, known?.display_name);
        this.changed();
      },
      // Asked again once the socket is back.
      () => this.#asked.delete(user),
    );
  }

  async #readPicture(user: string, avatar: number, key: string): Promise<void> {
    this.#pictures.set(key, undefined);
    for (const [oldest, url] of this.#pictures) {
      if (this.#pictures.size <= PICTURES_KEPT_MAX) break;
      if (url !== undefined) URL.revokeObjectURL(url);
      this.#pictures.delete(oldest);
    }
    try {
      this.#pictures.set(key, URL.createObjectURL(await this.#client.account.readAvatar(user, avatar, 64)));
      this.changed();
    } catch {
      // The letters of the name stand in its place; it is asked for again when the number changes.
    }
  }
}

export function useName(people: People, user: string): string {
  return useObserved(people, () => people.nameOf(user));
}
