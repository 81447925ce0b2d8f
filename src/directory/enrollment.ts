/**
 * Enrolment (CRD-07): invitations for people, guests, administrators and owners, each good for one exchange. What the
 * account will be stands in the invitation; whoever exchanges it brings a username and a password.
 */
import { createHash } from 'node:crypto';
import type { Passwords } from '#src/identity/credentials/passwords.ts';
import type { SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import { unixSeconds, type Clock } from '#src/base/clock.ts';
import { randomSymbols } from '#src/base/ids.ts';
import { formatInstant } from '#src/base/time.ts';
import type { ProfileChange } from '#src/protocol/directory/directory.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Enroll } from '#src/protocol/directory/guests.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import type { AccessControl } from './access-control.ts';
import { consoleRoleOf, consoleRoles } from '#src/identity/console/console-role-record.ts';
import { namesIn, putProfile } from './directory.ts';
import { dropHosted, putHosted } from '#src/identity/guest-hosts.ts';
import {
  guestLandings,
  guestOfPhone,
  guestPhones,
  guestRecords,
  phoneId,
  type GuestRecord,
} from '#src/identity/guest-records.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import { termEnd, type Guests } from './guests.ts';
import type { Invitations } from './invitations.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import { addPerson } from './people.ts';

/** An invitation of a person or a guest travels by post at times: a week. */
export const INVITATION_SECONDS = 7 * 24 * 3600;
/** One that opens the console is handed over the same day. */
export const CONSOLE_INVITATION_SECONDS = 24 * 3600;

const SECRET_SYMBOLS = 32;

/** What an invitation says of the guest whom it is for. */
interface GuestForm extends Pick<GuestRecord, 'phone' | 'endsAt' | 'invitedBy' | 'isHosted'> {
  /** The room that they come into. */
  readonly room?: string;
}

interface EnrollmentRecord {
  readonly kind: Enroll['kind'];
  /** Unix seconds from which it is no longer exchanged. */
  readonly expiresAt: number;
  readonly usedBy: string | null;
  /** Who made it, as the audit trail names them. */
  readonly createdBy: string;
  /** Who made one that opens the console, and whether as an owner of here or by the word of a provider. */
  readonly maker?: { readonly user: string; readonly isOwner: boolean };
  readonly profile: ProfileChange;
  readonly guest: GuestForm | null;
}

/** SHA-256 of the secret → what the account will be. */
const enrollments = defineCollection<EnrollmentRecord>('enrollments', { version: 1 });

/** An invitation of a guest by a host that waits; undefined for any other. */
export function waitingGuestOf(
  view: Pick<AccountsDraft, 'document'>,
  host: string,
  id: string,
): (EnrollmentRecord & { readonly guest: GuestForm }) | undefined {
  const record = view.document(enrollments, id);
  const guest = record?.guest;
  if (record === undefined || guest === null || guest === undefined || record.usedBy !== null) return undefined;
  return guest.isHosted === true && guest.invitedBy === host ? { ...record, guest } : undefined;
}

/** Takes an invitation away that waits, as part of a change: its link answers as one that never was. */
export function removeEnrollment(draft: AccountsDraft, id: string): void {
  draft.removeDocument(enrollments, id);
}

/** Takes what invitations say of whoever came by them out of them: they are used, and stay so. */
export function forgetEnrollments(accounts: Accounts, draft: AccountsDraft, user: string): void {
  for (const { document, id } of accounts.documents(enrollments)) {
    if (document.usedBy === user) draft.putDocument(enrollments, id, { ...document, profile: {}, guest: null });
  }
}

/** An invitation as it is handed over: what it is known by here, the path of its link, and when that ends (RFC 3339). */
export interface EnrollmentLink {
  readonly id: string;
  readonly path: string;
  readonly expiresAt: string;
}

export interface EnrollmentOptions {
  readonly accounts: Accounts;
  readonly passwords: Passwords;
  readonly announcer: SessionAnnouncer;
  readonly access: AccessControl;
  readonly guests: Guests;
  /** Of the owner's set-up link, whose exchange comes to the same path. */
  readonly invitations: Invitations;
  readonly limiter: Pick<Limiter, 'check' | 'spend'>;
  readonly clock: Clock;
}

export class Enrollment {
  readonly #options: EnrollmentOptions;

  constructor(options: EnrollmentOptions) {
    this.#options = options;
  }

  /**
   * Makes an invitation; the path of its link is known to the answer alone. `inviter` is the person who invites, and a
   * guest is invited by a person.
   * @throws Refusal `field_invalid` for a term out of bounds, `phone_taken`, `right_missing` for a guest of nobody.
   */
  async invite(form: Enroll, inviter: string | undefined, by: AuditActor): Promise<EnrollmentLink> {
    const { accounts, clock } = this.#options;
    const now = clock.now();
    const guest = form.kind === 'guest' ? guestOf(form, inviter, now) : null;
    const { kind, display_name, ...rest } = form as Enroll & ProfileChange;
    const known = kind === 'person' ? { display_name, phone: rest.phone, email: rest.email, title: rest.title } : {};
    const profile = kind === 'guest' ? { display_name } : known;
    return await accounts.change((draft) => {
      if (guest !== null && guestOfPhone(draft, guest.phone, unixSeconds(now)) !== undefined) {
        throw new Refusal('phone_taken');
      }
      const opens = opensConsole(kind) && inviter !== undefined;
      const maker = opens ? { maker: { user: inviter, isOwner: consoleRoleOf(draft, inviter) === 'owner' } } : {};
      return putEnrollment(draft, { kind, profile, guest, ...maker }, by, now);
    });
  }

  /**
   * Exchanges an invitation for an account; of two who try at once, one gets it.
   * @throws Refusal `invitation_used` for one that was used, has expired or never was; `username_taken`,
   * `phone_taken`, the codes of the password policy, which leave the invitation as it is; `rate_limited` after too many
   * names that are taken; `busy`, `storage_full`.
   */
  async exchange(
    secret: string,
    chosen: { readonly username: string; readonly password: string },
    address: string,
  ): Promise<void> {
    const { limiter } = this.#options;
    const hash = hashOf(secret);
    limiter.check('enroll_name', hash);
    try {
      await this.#exchange(secret, hash, chosen, address);
    } catch (error) {
      if (error instanceof Refusal && error.code === 'username_taken') limiter.spend('enroll_name', hash);
      throw error;
    }
  }

  async #exchange(
    secret: string,
    hash: string,
    { username, password }: { readonly username: string; readonly password: string },
    address: string,
  ): Promise<void> {
    const { accounts, access, announcer, guests, invitations, passwords, clock } = this.#options;
    if (accounts.document(enrollments, hash) === undefined)
      return invitations.exchange(secret, username, password, address);
    // Looked at before the password is hashed, so that a link that is over costs nothing.
    const invited = openRecord(accounts, hash, unixSeconds(clock.now()));
    if (accounts.person(username) !== undefined) throw new Refusal('username_taken');
    const passwordHash = await passwords.hashChosen(password, namesOfInvited(username, invited));
    const now = clock.now();
    const { rev, isGuest } = await accounts.change((draft) => {
      const record = openRecord(draft, hash, unixSeconds(now));
      const { kind, profile, guest, createdBy } = record;
      const role = kind === 'owner' ? 'owner' : 'person';
      const added = addPerson(draft, { username, passwordHash, role, now });
      putProfile(draft, username, profile);
      if (guest !== null) {
        this.#requireHost(draft, guest);
        if (guestOfPhone(draft, guest.phone, unixSeconds(now)) !== undefined) throw new Refusal('phone_taken');
        const { room, ...person } = guest;
        draft.putDocument(guestRecords, username, { ...person, closed: false });
        if (room !== undefined) draft.putDocument(guestLandings, username, { room });
        draft.putDocument(guestPhones, phoneId(guest.phone), username);
        if (guest.isHosted === true) {
          dropHosted(draft, guest.invitedBy, { invitation: hash });
          putHosted(draft, guest.invitedBy, { guest: username });
        }
      }
      if (kind === 'admin') {
        const since = formatInstant(now);
        draft.putDocument(consoleRoles, username, { role: 'administrator' as const, since, by: createdBy });
      }
      draft.putDocument(enrollments, hash, { ...record, usedBy: username });
      const actor = `user:${username}`;
      const details = { kind, invited_by: createdBy };
      draft.audit(now, { event: 'enrollment.exchanged', actor, address, subject: actor, details });
      return { rev: added, isGuest: guest !== null };
    });
    if (isGuest) {
      // Every thread knows that this is a guest before the guest can do anything.
      await access.refresh();
      guests.watch();
    }
    announcer.directoryChanged(username, rev);
  }

  /** Forgets invitations whose time is over: they answer as those that never were. */
  async sweep(): Promise<void> {
    const { accounts, clock } = this.#options;
    const now = unixSeconds(clock.now());
    const over = accounts.documents(enrollments).filter(({ document }) => document.expiresAt <= now);
    if (over.length === 0) return;
    await accounts.change((draft) => {
      for (const { id, document } of over) {
        draft.removeDocument(enrollments, id);
        if (document.guest?.isHosted === true) dropHosted(draft, document.guest.invitedBy, { invitation: id });
      }
    });
  }

  /** A host who lost the right since, is blocked or has left lets nobody in. @throws Refusal `invitation_used`. */
  #requireHost(draft: AccountsDraft, { invitedBy, isHosted }: Pick<GuestRecord, 'invitedBy' | 'isHosted'>): void {
    if (isHosted !== true) return;
    const mayInvite = this.#options.access.grants('guest.invite', invitedBy);
    if (!mayInvite || draft.person(invitedBy)?.state !== 'active') throw new Refusal('invitation_used');
  }
}

/**
 * Stores an invitation as part of a change; its secret is in the answer and nowhere else. `now` in milliseconds since 1970.
 */
export function putEnrollment(
  draft: AccountsDraft,
  form: Pick<EnrollmentRecord, 'guest' | 'kind' | 'maker' | 'profile'>,
  by: AuditActor,
  now: number,
): EnrollmentLink {
  const { guest, kind } = form;
  const expires = unixSeconds(now) + (opensConsole(kind) ? CONSOLE_INVITATION_SECONDS : INVITATION_SECONDS);
  const expiresAt = formatInstant(expires * 1000);
  const secret = `inv_${randomSymbols(SECRET_SYMBOLS)}`;
  const id = hashOf(secret);
  draft.putDocument(enrollments, id, { ...form, expiresAt: expires, usedBy: null, createdBy: by.actor });
  const guestDetails = guest === null ? {} : { phone: guest.phone, guest_until: formatInstant(guest.endsAt * 1000) };
  const details = { kind, expires_at: expiresAt, ...guestDetails };
  draft.audit(now, { event: 'enrollment.invited', ...by, subject: null, details });
  return { id, path: `/v1/enroll/${secret}`, expiresAt };
}

/** Whether whoever comes by such an invitation has a role in the console. */
function opensConsole(kind: Enroll['kind']): boolean {
  return kind === 'admin' || kind === 'owner';
}

/**
 * One that opens the console is over with whoever made it: blocked, gone, or an owner of here no more, they would come back
 * by it. Those of people and guests stay, who are often invited by somebody in their last week.
 * @throws Refusal `invitation_used`.
 */
function openRecord(view: Pick<AccountsDraft, 'document' | 'person'>, hash: string, now: number): EnrollmentRecord {
  const record = view.document(enrollments, hash);
  const isOpen = record !== undefined && record.usedBy === null && record.expiresAt > now;
  if (!isOpen || (record.guest !== null && record.guest.endsAt <= now)) throw new Refusal('invitation_used');
  const { maker } = record;
  if (maker === undefined) return record;
  // Whom the provider alone knows has no account here, and nobody to block.
  const isOut = (view.person(maker.user)?.state ?? 'active') !== 'active';
  if (isOut || (maker.isOwner && consoleRoleOf(view, maker.user) !== 'owner')) throw new Refusal('invitation_used');
  return record;
}

function guestOf(form: Extract<Enroll, { kind: 'guest' }>, inviter: string | undefined, now: number) {
  if (inviter === undefined) throw new Refusal('right_missing');
  return { phone: form.phone, endsAt: termEnd(form.guest_until, now, 'guest_until'), invitedBy: inviter };
}

function namesOfInvited(username: string, { guest, profile }: EnrollmentRecord): string[] {
  return namesIn(username, guest === null ? profile : { ...profile, phone: guest.phone });
}

function hashOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
