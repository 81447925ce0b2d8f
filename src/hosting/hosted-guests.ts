/**
 * Guests whom people invite with their apps: for whom the settings let, for as long and as many as they say. Whoever invited
 * them is their host, who is named in the trail, ends their term, and without whom they take part in no room.
 */
import { unixSeconds, type Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import { countHosted, dropHosted, putHosted, readHosted } from '#src/identity/guest-hosts.ts';
import { guestLandings, guestOfPhone, guestRecords } from '#src/identity/guest-records.ts';
import type { HostedGuest, InviteGuest } from '#src/protocol/directory/guests.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import { ERRORS, Refusal } from '#src/protocol/errors.ts';
import { readGuestRule } from '#src/settings/guest-settings.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import type { AccessControl } from '#src/directory/access-control.ts';
import { profileOf } from '#src/directory/directory.ts';
import { putEnrollment, removeEnrollment, waitingGuestOf, type EnrollmentLink } from '#src/directory/enrollment.ts';
import { termEnd, type Guests } from '#src/directory/guests.ts';
import type { HostedRooms } from './hosted-rooms.ts';

const DAY_MILLIS = 86_400_000;

export interface HostedGuestsOptions {
  readonly accounts: Accounts;
  readonly access: Pick<AccessControl, 'allows' | 'grants'>;
  readonly clock: Clock;
  readonly guests: Pick<Guests, 'end'>;
  readonly limiter: Pick<Limiter, 'check' | 'spend'>;
  readonly rooms: HostedRooms;
}

export class HostedGuests {
  readonly #options: HostedGuestsOptions;

  constructor(options: HostedGuestsOptions) {
    this.#options = options;
  }

  /**
   * Makes an invitation; the path of its link is known to the answer alone. A number has one guest, so a host learns of a
   * number whether a guest has it: of a few an hour, and of others neither.
   * @throws Refusal `right_missing`, `field_invalid` for a term out of bounds, `phone_taken`, `guests_full`, `rate_limited`;
   * those of `requireMayAdd` for a room.
   */
  async invite(host: string, form: InviteGuest, by: AuditActor): Promise<EnrollmentLink> {
    const { accounts, access, clock, limiter, rooms } = this.#options;
    if (!access.grants('guest.invite', host)) throw new Refusal('right_missing');
    const { conversation_id: room, display_name } = form;
    if (room !== undefined) rooms.requireMayAdd(room, host);
    const now = clock.now();
    const { perPerson, termDays } = readGuestRule(accounts);
    const endsAt = termEnd(form.guest_until, now, 'guest_until');
    if (endsAt * 1000 > now + termDays * DAY_MILLIS) throw new Refusal('field_invalid', { field: 'guest_until' });
    limiter.check('guest_number', host);
    const where = room === undefined ? {} : { room };
    const guest = { phone: form.phone, endsAt, invitedBy: host, isHosted: true, ...where } as const;
    return await accounts.change((draft) => {
      if (draft.person(host)?.state !== 'active' || !access.grants('guest.invite', host)) {
        throw new Refusal('right_missing');
      }
      if (countHosted(draft, host) >= perPerson) throw new Refusal('guests_full');
      if (guestOfPhone(draft, guest.phone, unixSeconds(now)) !== undefined) {
        limiter.spend('guest_number', host);
        throw new Refusal('phone_taken');
      }
      const made = putEnrollment(draft, { kind: 'guest', profile: { display_name }, guest }, by, now);
      putHosted(draft, host, { invitation: made.id });
      return made;
    });
  }

  /** Guests of a host whose term runs, and their invitations that wait. */
  list(host: string): HostedGuest[] {
    const { accounts, clock } = this.#options;
    const now = unixSeconds(clock.now());
    return readHosted(accounts, host).flatMap((one): HostedGuest[] => {
      if ('invitation' in one) {
        const waiting = waitingGuestOf(accounts, host, one.invitation);
        if (waiting === undefined || waiting.expiresAt <= now || waiting.guest.endsAt <= now) return [];
        const { room } = waiting.guest;
        const where = room === undefined ? {} : { conversation_id: room };
        const ends = { expires_at: formatInstant(waiting.expiresAt * 1000), ...where };
        const { display_name: name } = waiting.profile;
        return [{ state: 'invited', id: one.invitation, ...ends, ...viewOf(name, waiting.guest) }];
      }
      const record = accounts.document(guestRecords, one.guest);
      if (record === undefined || record.endsAt <= now) return [];
      const { display_name: name } = profileOf(accounts, one.guest);
      return [{ state: 'active', user: one.guest, ...viewOf(name, record) }];
    });
  }

  /**
   * Has a guest come into the room that they were invited to, if there is one still to come into. The word is the host's by
   * then: who adds nobody there any more has brought the guest into the organisation, and not into the room. Answers the room
   * that they are in now.
   */
  async land(username: string): Promise<string | undefined> {
    const { accounts, access, rooms } = this.#options;
    const landing = accounts.document(guestLandings, username);
    const host = accounts.document(guestRecords, username)?.invitedBy;
    if (landing === undefined || host === undefined) return undefined;
    let room: string | undefined;
    try {
      if (accounts.isActive(host) && access.allows('invite', host, username)) {
        await rooms.add(landing.room, host, username);
        room = landing.room;
      }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      // A room that does not answer now is asked again by `landAll`.
      if (ERRORS[error.code].status === 503) return undefined;
    }
    await accounts.change((draft) => draft.removeDocument(guestLandings, username));
    return room;
  }

  /** Goes on with those for whom the room had no answer, or between whose account and room the server stopped. */
  async landAll(): Promise<void> {
    for (const { id } of this.#options.accounts.documents(guestLandings)) await this.land(id);
  }

  /** Takes an invitation back that waits. @throws Refusal `invitation_not_found`, also for one of somebody else. */
  async withdraw(host: string, id: string, by: AuditActor): Promise<void> {
    const { accounts, clock, limiter } = this.#options;
    await accounts.change((draft) => {
      const waiting = waitingGuestOf(draft, host, id);
      if (waiting === undefined) throw new Refusal('invitation_not_found');
      removeEnrollment(draft, id);
      dropHosted(draft, host, { invitation: id });
      const details = { expires_at: formatInstant(waiting.expiresAt * 1000), phone: waiting.guest.phone };
      draft.audit(clock.now(), { event: 'enrollment.withdrawn', ...by, subject: null, details });
    });
    // Made and taken back, it has said that the number is nobody's.
    limiter.spend('guest_number', host);
  }

  /** Ends the term of a guest now. @throws Refusal `guest_not_found`, also for one of somebody else, or whose term is over. */
  async end(host: string, username: string, by: AuditActor): Promise<void> {
    const { accounts, clock, guests } = this.#options;
    const record = accounts.document(guestRecords, username);
    const isTheirs = record?.isHosted === true && record.invitedBy === host;
    if (!isTheirs || record.endsAt <= unixSeconds(clock.now())) throw new Refusal('guest_not_found');
    await guests.end(username, by);
  }
}

function viewOf(
  name: string | null | undefined,
  { endsAt, phone }: { readonly endsAt: number; readonly phone: string },
) {
  const shown = typeof name === 'string' ? { display_name: name } : {};
  return { ...shown, phone, guest_until: formatInstant(endsAt * 1000) };
}
