/** How guests are stored: who they are beside their accounts, and which number is whose. */
import type { AccountsDraft, AccountsReader } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import { dropHosted } from './guest-hosts.ts';

export interface GuestRecord {
  /** In E.164 form. */
  readonly phone: string;
  /** Unix seconds from which the guest cannot sign in. */
  readonly endsAt: number;
  readonly invitedBy: string;
  /** Whether the sessions of a term that is over were ended. */
  readonly closed: boolean;
  /** Whoever invited them did it with an app, and not as somebody who runs the installation: their host. */
  readonly isHosted?: true;
}

/** By username. */
export const guestRecords = defineCollection<GuestRecord>('guests', { version: 1 });

/** Username of a guest who has enrolled → the room that they are still to come into. */
export const guestLandings = defineCollection<{ readonly room: string }>('guest_landings', { version: 1 });

/** Digits of a phone number → username of the guest who has it now. */
export const guestPhones = defineCollection<string>('guest_phones', { version: 1 });

/** A number as an id: its digits. */
export function phoneId(phone: string): string {
  return phone.slice(1);
}

/** Forgets that a person is a guest, and their number, as part of a change. */
export function removeGuest(draft: AccountsDraft, username: string): void {
  const guest = draft.document(guestRecords, username);
  if (guest === undefined) return;
  const phone = phoneId(guest.phone);
  if (draft.document(guestPhones, phone) === username) draft.removeDocument(guestPhones, phone);
  draft.removeDocument(guestRecords, username);
  draft.removeDocument(guestLandings, username);
  if (guest.isHosted === true) dropHosted(draft, guest.invitedBy, { guest: username });
}

/** The guest who has that number and whose term runs at that Unix second, and who may sign in. */
export function guestOfPhone(
  view: Pick<AccountsReader, 'document' | 'person'>,
  phone: string,
  nowSeconds: number,
): { readonly username: string; readonly guest: GuestRecord } | undefined {
  const username = view.document(guestPhones, phoneId(phone));
  if (username === undefined) return undefined;
  const guest = view.document(guestRecords, username);
  if (guest === undefined || guest.phone !== phone || guest.endsAt <= nowSeconds) return undefined;
  return view.person(username)?.state === 'active' ? { username, guest } : undefined;
}
