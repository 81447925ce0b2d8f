/** Guests whom people invite with their apps, as the settings have it. Who may is in `granted-rights.ts`. */
import { GUEST_TERM_DAYS_DEFAULT, GUESTS_PER_PERSON_DEFAULT } from '#src/protocol/directory/guests.ts';
import type { AccountsReader } from '#storage/accounts/accounts.ts';
import { readSetValues } from './settings.ts';

export interface GuestRule {
  /** Days that a term takes at most. */
  readonly termDays: number;
  /** Guests of one person at once, invitations that wait included. */
  readonly perPerson: number;
}

/** Read at every use, so that a change counts at once. */
export function readGuestRule(view: Pick<AccountsReader, 'document'>): GuestRule {
  const set = readSetValues(view, 'guests') as { term_days?: number; per_person?: number };
  return {
    termDays: set.term_days ?? GUEST_TERM_DAYS_DEFAULT,
    perPerson: set.per_person ?? GUESTS_PER_PERSON_DEFAULT,
  };
}
