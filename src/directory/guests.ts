/**
 * Guests (GST-01): people whom somebody invited for a term. At the second in which the term ends they cannot sign in,
 * their tokens are over, since none is made to outlive it, and their sockets close.
 */
import type { SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import { unixSeconds, type Clock } from '#src/base/clock.ts';
import { DueTimer } from '#src/base/due-timer.ts';
import { formatInstant, parseInstant } from '#src/base/time.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { GUEST_TERM_DAYS_MAX, type GuestView } from '#src/protocol/directory/guests.ts';
import type { Revocation } from '#storage/accounts/account-records.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import type { AccessControl } from './access-control.ts';
import { profileOf, putPerson } from './directory.ts';
import { dropHosted, putHosted } from '#src/identity/guest-hosts.ts';
import { guestOfPhone, guestPhones, guestRecords, phoneId, type GuestRecord } from '#src/identity/guest-records.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import { endSessions } from '#src/identity/device-sessions.ts';

export interface GuestsOptions {
  readonly accounts: Accounts;
  readonly access: AccessControl;
  readonly announcer: SessionAnnouncer;
  readonly clock: Clock;
  readonly log: Logger;
}

export class Guests {
  readonly #options: GuestsOptions;
  readonly #timer: DueTimer;

  constructor(options: GuestsOptions) {
    this.#options = options;
    this.#timer = new DueTimer({
      clock: options.clock,
      next: () => this.#nextEnd(),
      work: async () => await this.sweep(),
      failed: (error) => options.log.warn('ending the terms of guests failed', { error }),
    });
  }

  /** Guests by username behind `after`. */
  list(after: string | undefined, limit: number): { items: GuestView[]; next: string | null } {
    const found = this.#options.accounts.documents(guestRecords, { ...(after === undefined ? {} : { after }), limit });
    const items = found.map(({ id, document }) => this.#view(id, document));
    return { items, next: found.length < limit ? null : (found.at(-1)?.id ?? null) };
  }

  /** @throws Refusal `guest_not_found`. */
  read(username: string): GuestView {
    const record = this.#options.accounts.document(guestRecords, username);
    if (record === undefined) throw new Refusal('guest_not_found');
    return this.#view(username, record);
  }

  /** Gives a guest another end of the term. @throws Refusal `guest_not_found`, `field_invalid`, `phone_taken`, `person_left`. */
  async changeTerm(username: string, expiresAt: string, by: AuditActor): Promise<GuestView> {
    const now = this.#options.clock.now();
    const endsAt = termEnd(expiresAt, now, 'expires_at');
    await this.#setTerm(username, endsAt, (draft, before) => {
      const details = { before: formatInstant(before.endsAt * 1000), after: formatInstant(endsAt * 1000) };
      draft.audit(now, { event: 'guest.term_changed', ...by, subject: `user:${username}`, details });
    });
    return this.read(username);
  }

  /** Ends a guest's term now. @throws Refusal `guest_not_found`, `person_left`. */
  async end(username: string, by: AuditActor): Promise<GuestView> {
    const now = this.#options.clock.now();
    await this.#setTerm(username, unixSeconds(now), (draft, before) => {
      const details = { before: formatInstant(before.endsAt * 1000) };
      draft.audit(now, { event: 'guest.ended', ...by, subject: `user:${username}`, details });
    });
    await this.sweep();
    return this.read(username);
  }

  /** Ends the sessions of guests whose term is over, and tells the directory's readers. */
  async sweep(): Promise<void> {
    const { access, accounts, announcer, clock } = this.#options;
    const now = unixSeconds(clock.now());
    const over = accounts.documents(guestRecords).filter(({ document }) => isDue(accounts, document, now));
    if (over.length === 0) return;
    const closed = await accounts.change((draft) => over.map(({ id }) => closeGuest(draft, id, now)));
    // Of whom the host left the term ends now, and not when it would have.
    if (closed.some((one) => one?.isEarly === true)) await access.refresh();
    const revoked = closed.flatMap((one) => one?.revoked ?? []);
    if (revoked.length > 0) await announcer.revoked(revoked);
    for (const one of closed) if (one !== undefined) announcer.directoryChanged(one.username, one.rev);
  }

  /** Looks when the next term ends, and sweeps then. Called again whenever terms changed. */
  watch(): void {
    this.#timer.watch();
  }

  stop(): void {
    this.#timer.stop();
  }

  #nextEnd(): number | undefined {
    const records = this.#options.accounts.documents(guestRecords);
    const ends = records.flatMap(({ document }) => (document.closed ? [] : [document.endsAt * 1000]));
    return ends.length === 0 ? undefined : ends.reduce((least, end) => Math.min(least, end));
  }

  async #setTerm(
    username: string,
    endsAt: number,
    audit: (draft: AccountsDraft, before: GuestRecord) => void,
  ): Promise<void> {
    const { accounts, access, announcer, clock } = this.#options;
    const now = unixSeconds(clock.now());
    const rev = await accounts.change((draft) => {
      const [before, person] = [draft.document(guestRecords, username), draft.person(username)];
      if (before === undefined || person === undefined) throw new Refusal('guest_not_found');
      if (person.state === 'left') throw new Refusal('person_left');
      const holder = guestOfPhone(draft, before.phone, now);
      if (endsAt > now && holder !== undefined && holder.username !== username) throw new Refusal('phone_taken');
      draft.putDocument(guestRecords, username, { ...before, endsAt, closed: false });
      if (endsAt > now) draft.putDocument(guestPhones, phoneId(before.phone), username);
      if (endsAt > now && before.isHosted === true) putHosted(draft, before.invitedBy, { guest: username });
      audit(draft, before);
      return putPerson(draft, person);
    });
    await access.refresh();
    announcer.directoryChanged(username, rev);
    this.watch();
  }

  #view(username: string, { phone, endsAt, invitedBy }: GuestRecord): GuestView {
    const { accounts, clock } = this.#options;
    const name = profileOf(accounts, username).display_name;
    return {
      user: username,
      ...(name === null ? {} : { display_name: name }),
      phone,
      expires_at: formatInstant(endsAt * 1000),
      is_over: endsAt <= unixSeconds(clock.now()),
      invited_by: invitedBy,
    };
  }
}

/**
 * The Unix second of a term's end. @throws Refusal `field_invalid` for one that is past or further ahead than
 * GUEST_TERM_DAYS_MAX.
 */
export function termEnd(instant: string, nowMillis: number, field: string): number {
  const end = parseInstant(instant);
  const isWithin = end !== undefined && end > nowMillis && end <= nowMillis + GUEST_TERM_DAYS_MAX * 86_400_000;
  const seconds = isWithin ? unixSeconds(end) : 0;
  if (seconds <= unixSeconds(nowMillis)) throw new Refusal('field_invalid', { field });
  return seconds;
}

/** Whether the sessions of a term that is over are still to be ended; nobody is the guest of somebody who left. */
function isDue(
  view: Pick<AccountsDraft, 'person'>,
  { closed, endsAt, invitedBy, isHosted }: GuestRecord,
  now: number,
): boolean {
  if (closed) return false;
  return endsAt <= now || (isHosted === true && view.person(invitedBy)?.state === 'left');
}

interface Closed {
  readonly username: string;
  /** The term ended before its time. */
  readonly isEarly: boolean;
  readonly revoked: Revocation[];
  readonly rev: number;
}

function closeGuest(draft: AccountsDraft, username: string, now: number): Closed | undefined {
  const [guest, person] = [draft.document(guestRecords, username), draft.person(username)];
  // The term may have been extended while this change waited for its turn.
  if (guest === undefined || person === undefined || !isDue(draft, guest, now)) return undefined;
  const isEarly = guest.endsAt > now;
  draft.putDocument(guestRecords, username, { ...guest, endsAt: Math.min(guest.endsAt, now), closed: true });
  if (guest.isHosted === true) dropHosted(draft, guest.invitedBy, { guest: username });
  if (isEarly) {
    const details = { before: formatInstant(guest.endsAt * 1000) };
    const entry = {
      event: 'guest.ended',
      actor: 'server',
      address: null,
      subject: `user:${username}`,
      details,
    } as const;
    draft.audit(now * 1000, entry);
  }
  return { username, isEarly, revoked: endSessions(draft, username), rev: putPerson(draft, person) };
}
