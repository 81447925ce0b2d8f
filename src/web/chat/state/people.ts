/** What people are called and look like, for screens: read from the directory when first shown, and again when it changed. */
import type { ParleyClient } from '#src/client/parley-client.ts';
import type { Known } from '#src/client/directory.ts';
import type { Presence } from '../../kit/person-avatar.tsx';
import { harmlessName } from '../../kit/harmless-text.ts';
import { Observable, useObserved } from '../../kit/observable.ts';
import { KeptNames } from './kept-names.ts';
import { KeptPictures, type KeptPicture } from './kept-pictures.ts';

/** Pictures held for screens; who was shown first goes first, and is read again. */
const PICTURES_SHOWN_MAX = 300;

interface Picture {
  /** The address of it inside this page. */
  url?: string;
  /** Its number; of one that is being read, or could not be, the wanted one. */
  avatar?: number;
  isReading: boolean;
}

export class People extends Observable {
  readonly #client: ParleyClient;
  /** The last that was known, so that a name does not blink while it is asked for again. */
  readonly #shown = new Map<string, Known>();
  readonly #asked = new Set<string>();
  readonly #names: KeptNames;
  readonly #kept: KeptPictures;
  readonly #pictures = new Map<string, Picture>();

  constructor(client: ParleyClient) {
    super();
    this.#client = client;
    this.#names = new KeptNames(client.user);
    this.#kept = new KeptPictures(client.user);
    client.on('directory.changed', ({ data }) => this.#askAgain([data.user]));
    client.on('caught-up', () => {
      this.#askAgain([...this.#shown.keys()]);
      // Whoever is shown and could not be asked for is asked for now, and pictures that did not come are.
      for (const picture of this.#pictures.values()) if (picture.url === undefined) delete picture.avatar;
      this.changed();
    });
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
    const entry = this.entryOf(user);
    const picture = this.#pictures.get(user);
    if (entry !== undefined && entry?.avatar === undefined) {
      if (picture !== undefined) this.#drop(user, picture);
      return undefined;
    }
    if (picture === undefined) void this.#readKept(user);
    else if (entry?.avatar !== undefined && entry.avatar !== picture.avatar && !picture.isReading)
      void this.#readPicture(user, entry.avatar, picture);
    return picture?.url;
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

  /** The one of an earlier visit, which is the one that the directory means in most cases. */
  async #readKept(user: string): Promise<void> {
    const picture: Picture = { isReading: true };
    this.#pictures.set(user, picture);
    for (const [first, shown] of this.#pictures) {
      if (this.#pictures.size <= PICTURES_SHOWN_MAX) break;
      this.#revoke(first, shown);
    }
    const kept = await this.#kept.read(user);
    if (kept !== undefined) this.#show(user, picture, kept);
    picture.isReading = false;
    this.changed();
  }

  async #readPicture(user: string, avatar: number, picture: Picture): Promise<void> {
    picture.isReading = true;
    try {
      const read = { avatar, picture: await this.#client.account.readAvatar(user, avatar, 64) };
      this.#show(user, picture, read);
      void this.#kept.keep(user, read);
    } catch {
      // What was there stays, or the letters of the name; it is asked for again when the number changes, or the network is back.
      picture.avatar = avatar;
    }
    picture.isReading = false;
    this.changed();
  }

  #show(user: string, picture: Picture, { avatar, picture: blob }: KeptPicture): void {
    // It went while it was read.
    if (this.#pictures.get(user) !== picture) return;
    if (picture.url !== undefined) URL.revokeObjectURL(picture.url);
    picture.url = URL.createObjectURL(blob);
    picture.avatar = avatar;
  }

  #drop(user: string, picture: Picture): void {
    this.#revoke(user, picture);
    void this.#kept.forget(user);
  }

  #revoke(user: string, { url }: Picture): void {
    if (url !== undefined) URL.revokeObjectURL(url);
    this.#pictures.delete(user);
  }
}

export function useName(people: People, user: string): string {
  return useObserved(people, () => people.nameOf(user));
}
