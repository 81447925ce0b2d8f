/**
 * Pictures of people: opened in a process apart, made small and square, and kept beside the profile. Each has the change number of
 * the directory that it came with, so that what was read under a number never changes.
 */
import type { Clock } from '#src/base/clock.ts';
import type { SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import { AvatarMaker, type AvatarPictures } from '#src/pictures/avatar-maker.ts';
import type { ThumbnailMaker } from '#src/pictures/thumbnail-maker.ts';
import type { AvatarSize } from '#src/protocol/account/avatars.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import type { AccessControl } from './access-control.ts';
import { putPerson } from './directory.ts';
import { UnknownPerson } from './people.ts';
import { personalFieldsOf, putAvatarRev } from '#src/identity/personal-fields.ts';

/** Username → theirs; with the number of it in their personal fields. */
const avatars = defineCollection<AvatarPictures>('avatars', { version: 1 });

export interface AvatarsOptions {
  readonly access: Pick<AccessControl, 'allows'>;
  readonly accounts: Accounts;
  readonly announcer: Pick<SessionAnnouncer, 'avatarChanged' | 'directoryChanged'>;
  readonly clock: Clock;
  /** Its owner's to close. */
  readonly maker: ThumbnailMaker;
}

export class Avatars {
  readonly #options: AvatarsOptions;
  readonly #avatars: AvatarMaker;

  constructor(options: AvatarsOptions) {
    this.#options = options;
    this.#avatars = new AvatarMaker(options.maker);
  }

  /**
   * Gives a person another picture; answers its number. Whoever may see the person is told.
   * @throws Refusal `avatar_invalid` for what cannot be opened within the limits; `session_revoked`, `busy`, `storage_full`.
   */
  async put(username: string, picture: Uint8Array): Promise<number> {
    const { accounts } = this.#options;
    const made = await this.#avatars.make(picture);
    const rev = await accounts.change((draft) => {
      const person = draft.person(username);
      if (person?.state !== 'active') throw new Refusal('session_revoked');
      draft.putDocument(avatars, username, made);
      const changed = putPerson(draft, person);
      putAvatarRev(draft, username, changed);
      return changed;
    });
    this.#announce(username, rev);
    return rev;
  }

  /** Takes a picture away, if there is one; `by` is named in the trail where that is somebody else. @throws UnknownPerson */
  async remove(username: string, by?: AuditActor): Promise<void> {
    const { accounts, clock } = this.#options;
    const rev = await accounts.change((draft) => {
      const person = draft.person(username);
      if (person === undefined) throw new UnknownPerson(username);
      if (!removeAvatar(draft, username)) return undefined;
      const subject = `user:${username}`;
      if (by !== undefined) draft.audit(clock.now(), { event: 'user.avatar_removed', ...by, subject, details: {} });
      return putPerson(draft, person);
    });
    if (rev !== undefined) this.#announce(username, rev);
  }

  /**
   * A picture as WebP. @throws Refusal `avatar_not_found`, one answer for a picture that is not there, another number, and a
   * person whom the reader may not see.
   */
  read(reader: string, username: string, rev: number, size: AvatarSize): Uint8Array {
    const { access, accounts } = this.#options;
    const isVisible = reader === username || access.allows('see', reader, username);
    const isThere = personalFieldsOf(accounts, username).avatar === rev;
    const picture = isVisible && isThere ? accounts.document(avatars, username)?.[size] : undefined;
    if (picture === undefined) throw new Refusal('avatar_not_found');
    return picture;
  }

  #announce(username: string, rev: number): void {
    this.#options.announcer.directoryChanged(username, rev);
    this.#options.announcer.avatarChanged(username, rev);
  }
}

/** Takes the picture of a person away, as part of a change; whether there was one. */
export function removeAvatar(draft: AccountsDraft, username: string): boolean {
  if (personalFieldsOf(draft, username).avatar === null) return false;
  draft.removeDocument(avatars, username);
  putAvatarRev(draft, username, null);
  return true;
}
