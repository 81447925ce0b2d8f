/** Proposals of another time, and the answers to them, as they come: held to what they are about, then kept in the inbox. */
import type { Clock } from '#src/base/clock.ts';
import { putMessage } from '#storage/calendars/calendar-inbox.ts';
import type { CalendarDraft } from '#storage/calendars/calendar-draft.ts';
import { ACCESS_RANK, entryIdOf } from '#storage/calendars/calendar-records.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import type { ProposalNotice } from '../change-announcer.ts';
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
  /** Whether the server wrote it: see `ProposalMessage`. */
  readonly isServers?: boolean;
}

/**
 * What a proposal is about, for the inbox: of one person on one entry the newest counts, so that nobody fills an inbox with
 * proposals of every occurrence.
 */
export function topicOf(method: IncomingProposal['method'], uid: string, from: string): string {
  return `${method}:${entryIdOf(uid)}:${from}`;
}

/**
 * Who hears that a message of a topic came into somebody’s inbox or went: they and, in a calendar of their own, their delegates
 * there. Undefined where it is about no entry that is there.
 */
export function noticeOf(calendars: Calendars, owner: string, topic: string): ProposalNotice | undefined {
  const [, entry] = /^(?:COUNTER|DECLINECOUNTER):([^:]+):/.exec(topic) ?? [];
  if (entry === undefined) return undefined;
  calendars.refresh();
  const place = calendars
    .servedTo(owner)
    .filter(({ access }) => ACCESS_RANK[access] >= ACCESS_RANK.write)
    .find(({ calendar: { id } }) => calendars.nameByEntry(id, entry) !== undefined);
  if (place === undefined) return undefined;
  const { id } = place.calendar;
  const viewers = place.access === 'owner' ? calendars.viewersOf(id) : [];
  const delegates = viewers.filter((user) => calendars.accessOf(user, id) === 'delegate');
  return { users: [owner, ...delegates], proposal: { calendar: id, entry } };
}

/**
 * Keeps a proposal, and does `also` in the same commit. Undefined where the entry changed meanwhile.
 * @throws what the store refuses; CalendarFault.
 */
export async function receiveProposal(
  options: ProposalIntakeOptions,
  { bytes, from, isServers = false, method, recipients, to, uid }: IncomingProposal,
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
    ...{ recipients, from, to, isServers, now: clock.now() },
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
