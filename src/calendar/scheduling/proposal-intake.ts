/** Proposals of another time, and the answers to them, as they come: held to what they are about, then kept in the inbox. */
import type { Clock } from '#src/base/clock.ts';
import { putMessage } from '#storage/calendars/calendar-inbox.ts';
import type { CalendarDraft } from '#storage/calendars/calendar-draft.ts';
import { entryIdOf } from '#storage/calendars/calendar-records.ts';
import type { DerivationPool } from '../objects/derivation-pool.ts';
import { messageIndex } from '../objects/message-index.ts';
import { placeOf, type PlacingOptions } from './delivery-calendar.ts';
import type { OutsideWord } from './itip-inbound.ts';
import type { Recipients } from './people.ts';

export interface ProposalIntakeOptions extends PlacingOptions {
  readonly pool: Pick<DerivationPool, 'derive' | 'takeProposal'>;
  readonly clock: Clock;
}

export interface IncomingProposal {
  readonly bytes: Uint8Array;
  readonly method: 'COUNTER' | 'DECLINECOUNTER';
  readonly uid: string;
  /** Identity of who sent it. */
  readonly from: string;
  /** Username of whom it comes to. */
  readonly to: string;
  readonly recipients: Recipients;
}

/**
 * What a proposal is about, for the inbox: of one person on one entry the newest counts, so that nobody fills an inbox with
 * proposals of every occurrence.
 */
export function topicOf(method: IncomingProposal['method'], uid: string, from: string): string {
  return `${method}:${entryIdOf(uid)}:${from}`;
}

/**
 * Keeps a proposal, and does `also` in the same commit. Undefined where the entry changed meanwhile.
 * @throws what the store refuses; CalendarFault.
 */
export async function receiveProposal(
  options: ProposalIntakeOptions,
  { bytes, from, method, recipients, to, uid }: IncomingProposal,
  also: (draft: CalendarDraft) => void,
): Promise<'applied' | OutsideWord | undefined> {
  const { calendars, clock, pool } = options;
  const place = await placeOf(options, to, { method, uid });
  if (place?.name === undefined) return 'event_unknown';
  const { calendar, etag, name } = place;
  const topic = topicOf(method, uid, from);
  const inbox = calendars.inboxOf(to);
  const before = inbox === undefined ? undefined : calendars.nameByUid(inbox.id, topic);
  const known = inbox === undefined || before === undefined ? undefined : calendars.bytesOf(inbox.id, before);
  const taken = await pool.takeProposal({
    ...{ message: bytes, copy: calendars.bytesOf(calendar.id, name), known, zone: calendar.zone },
    ...{ recipients, from, to, now: clock.now() },
  });
  if (typeof taken === 'string') return taken;
  const index = await messageIndex(pool, taken, calendar.zone);
  const isKept = await calendars.change((draft) => {
    if (draft.object(calendar.id, name)?.etag !== etag) return false;
    if (inbox !== undefined && draft.nameByUid(inbox.id, topic) !== before) return false;
    putMessage(draft, to, calendar.zone, { bytes: taken, index, topic });
    also(draft);
    return true;
  });
  return isKept ? 'applied' : undefined;
}
