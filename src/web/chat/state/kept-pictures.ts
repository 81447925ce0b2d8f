/** People's pictures as they were shown last, in this browser: there without asking, and without a network. */
import { KeptAnswers } from '../../account/kept-answers.ts';

/** As many as a page shows. Beyond it those go that were read longest ago, and are read again. */
export const PICTURES_KEPT_MAX = 300;
/** A picture that was not read for so long is forgotten: its person may be gone. */
export const PICTURES_KEPT_DAYS = 30;
/** Says which one of a person's it is. */
const NUMBER = 'x-picture-number';

export interface KeptPicture {
  /** The number that the directory had for it. */
  readonly avatar: number;
  readonly picture: Blob;
}

export class KeptPictures {
  readonly #answers: KeptAnswers;
  /** Of whom there is one; asked for once, since most have none. */
  #users: Promise<Set<string>> | undefined;

  constructor(owner: string) {
    this.#answers = new KeptAnswers({ name: 'pictures', owner, most: PICTURES_KEPT_MAX, days: PICTURES_KEPT_DAYS });
  }

  /** Somebody's picture of an earlier time; undefined where none is kept. */
  async read(user: string): Promise<KeptPicture | undefined> {
    this.#users ??= this.#answers.keys().then((users) => new Set(users));
    const kept = (await this.#users).has(user) ? await this.#answers.read(user) : undefined;
    return kept && { avatar: Number(kept.headers.get(NUMBER)), picture: await kept.blob() };
  }

  async keep(user: string, { avatar, picture }: KeptPicture): Promise<void> {
    await this.#answers.keep(user, picture, { 'content-type': picture.type, [NUMBER]: String(avatar) });
    (await this.#users)?.add(user);
  }

  /** Somebody has no picture any more. */
  async forget(user: string): Promise<void> {
    if ((await this.#users)?.delete(user) === true) await this.#answers.forget(user);
  }
}
