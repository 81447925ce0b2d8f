/**
 * Invitations: single use, in the path of a link, known to the invited alone (CRD-07). What is stored is a hash.
 *
 *     made ──exchange──► used     (its record stays until its term, and answers 410 as any other)
 *       └───24 hours───► expired
 */
import { createHash } from 'node:crypto';
import type { Passwords } from '#src/identity/credentials/passwords.ts';
import type { SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import { unixSeconds, type Clock } from '#src/base/clock.ts';
import { randomSymbols } from '#src/base/ids.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { addPerson, BY_COMMAND } from './people.ts';

/** How long the owner's set-up link works: a day, which is an installation and a night. */
export const OWNER_INVITATION_SECONDS = 24 * 3600;

/** 160 random bits: nobody guesses one, so a plain hash of it may be looked up. */
const SECRET_SYMBOLS = 32;

export interface InvitationsOptions {
  readonly accounts: Accounts;
  readonly passwords: Passwords;
  readonly announcer: SessionAnnouncer;
  readonly clock: Clock;
}

export class Invitations {
  readonly #options: InvitationsOptions;

  constructor(options: InvitationsOptions) {
    this.#options = options;
  }

  /**
   * The path of a link by which the first owner is made, or undefined when there is one already. Each call makes a
   * new link, since the secret of the one before is not known to the server any more, and ends the one before.
   */
  async ensureOwnerInvitation(): Promise<string | undefined> {
    const { accounts, clock } = this.#options;
    const secret = `inv_${randomSymbols(SECRET_SYMBOLS)}`;
    const earlier = accounts.invitationHashes();
    const isMade = await accounts.change((draft) => {
      if (draft.hasOwner) return false;
      for (const hash of earlier) if (draft.invitation(hash)?.kind === 'owner') draft.remove('invitations', hash);
      const expiresAt = unixSeconds(clock.now()) + OWNER_INVITATION_SECONDS;
      draft.putInvitation(hashOf(secret), { kind: 'owner', expiresAt, usedBy: undefined });
      return true;
    });
    return isMade ? `/v1/enroll/${secret}` : undefined;
  }

  /**
   * Exchanges an invitation for an account; of two who try at once, one gets it.
   * @throws Refusal `invitation_used` for one that was used, has expired or never was; `username_taken` and
   * the codes of the password policy, which leave the invitation as it is; `busy`, `storage_full`.
   */
  async exchange(secret: string, username: string, password: string, address: string): Promise<void> {
    const { accounts, announcer, passwords } = this.#options;
    const hash = hashOf(secret);
    // Looked at before the password is hashed, so that a made-up link costs nothing.
    this.#assertOpen(accounts, hash);
    if (accounts.person(username) !== undefined) throw new Refusal('username_taken');
    const passwordHash = await passwords.hashChosen(password, [username]);
    const now = this.#options.clock.now();
    const rev = await accounts.change((draft) => {
      const invitation = this.#assertOpen(draft, hash);
      const added = addPerson(draft, { username, passwordHash, role: 'owner', now });
      draft.putInvitation(hash, { ...invitation, usedBy: username });
      const actor = `user:${username}`;
      // Printed by the server at its start, or by `parley invite owner`.
      const details = { kind: 'owner', invited_by: BY_COMMAND.actor };
      draft.audit(now, { event: 'enrollment.exchanged', actor, address, subject: actor, details });
      return added;
    });
    announcer.directoryChanged(username, rev);
  }

  #assertOpen(view: Pick<AccountsDraft, 'invitation' | 'hasOwner'>, hash: string) {
    const invitation = view.invitation(hash);
    const isOpen = invitation !== undefined && invitation.usedBy === undefined && !view.hasOwner;
    if (!isOpen || invitation.expiresAt <= unixSeconds(this.#options.clock.now())) throw new Refusal('invitation_used');
    return invitation;
  }
}

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
