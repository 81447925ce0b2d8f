/** Meetings of the coordinator for entries: how an entry gets one, carries its link, and loses it. */
import type { JoinLink, MeetingPlan } from '#src/meetings/entry-meetings.ts';
import type { Lobby } from '#src/protocol/meetings/meetings.ts';
import { TITLE_LENGTH_MAX } from '#src/protocol/limits.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { CalendarDraft } from '#storage/calendars/calendar-draft.ts';
import { bindMeeting, meetingOf, releaseMeeting, type EntryPlace } from '#storage/calendars/calendar-meetings.ts';
import type { Calendars } from '#storage/calendars/calendars.ts';
import type { DerivationPool } from '../objects/derivation-pool.ts';
import type { Derived } from '../objects/derivation.ts';
import { readCalendarObject } from '../icalendar/object-reader.ts';
import { makeProperty, propertiesOf, propertyOf, type Component, type Property } from '../icalendar/component.ts';
import { changeProperties } from '../icalendar/edits.ts';

/** The coordinator's meetings, as this room asks for them. Who may come in is theirs to say. */
export interface EntryMeetings {
  /** @throws Refusal `meetings_full`. */
  make(host: string, plan: MeetingPlan, lobby: Lobby): Promise<JoinLink>;
  /** Has it follow its entry; answers whether it is still there to do so. */
  follow(id: string, plan: MeetingPlan): Promise<boolean>;
  /** Ends it, unless it is over already, whoever hosts it by now. */
  cancel(id: string): Promise<void>;
  /** The link in force of a meeting that is not over. */
  find(id: string): JoinLink | undefined;
  /** The meeting that a URL leads to, if it is one of this installation and not over. */
  read(url: string): JoinLink | undefined;
  /** Whether a URL names that meeting, also by a link that lets nobody in: of before a restore. */
  names(url: string, id: string): boolean;
  /** Meetings made for entries that are not over, behind the meeting `after`. */
  list(after: string | undefined, limit: number): readonly { id: string; host: string; madeAt: number }[];
}

/** What an entry says about when its meeting is; undefined once it is cancelled. */
export function planOf({ first, isCancelled, last, summary }: Derived['index']): MeetingPlan | undefined {
  if (isCancelled) return undefined;
  const title = summary.trim().slice(0, TITLE_LENGTH_MAX).toWellFormed() || 'Meeting';
  return { title, startsAt: first, endsAt: last !== null && last > first ? last : null };
}

/** The meeting that an entry leads to, by what stands in it. */
export function meetingIn(component: Component, meetings: Pick<EntryMeetings, 'read'>): JoinLink | undefined {
  return propertiesOf(component, 'CONFERENCE')
    .map(({ value }) => meetings.read(value.trim()))
    .find((found) => found !== undefined);
}

/** An entry with a meeting, or without: its bytes, and what is to be noted in the commit that writes them. */
export interface WithMeeting {
  readonly bytes: Uint8Array;
  readonly note: (draft: CalendarDraft) => void;
  /** Ends what was made for it, where that commit fails. */
  readonly undo: () => Promise<void>;
}

/** What a form asks for: a meeting, none any more, or nothing about it. */
export type MeetingWish = boolean | { readonly lobby: Lobby } | undefined;

/**
 * Gives an entry the meeting that is asked for, or takes it away. The meeting is made before the entry is written: what
 * a crash leaves in between is a meeting that nobody knows of, and the next start ends it.
 * @throws Refusal `meetings_full`, `field_invalid` for what is no event.
 */
export async function arrangeMeeting(
  {
    calendars,
    meetings,
    pool,
  }: { readonly calendars: Calendars; readonly meetings: EntryMeetings; readonly pool: DerivationPool },
  { host, place, wish, zone }: { host: string; place: EntryPlace; wish: MeetingWish; zone: string },
  bytes: Uint8Array,
): Promise<WithMeeting> {
  const nothing = { bytes, note: () => undefined, undo: async () => await Promise.resolve() };
  if (wish === undefined) return nothing;
  const bound = meetingOf(calendars, place);
  const present = bound === undefined ? undefined : meetings.find(bound);
  if (wish === false) {
    return {
      ...nothing,
      bytes: withLink(bytes, undefined, meetings, bound),
      note: (draft) => releaseMeeting(draft, place),
    };
  }
  const { index } = await pool.derive(bytes, zone);
  const plan = planOf(index);
  if (index.kind !== 'event' || plan === undefined) throw new Refusal('field_invalid', { field: 'meeting' });
  if (present !== undefined) return { ...nothing, bytes: withLink(bytes, present, meetings, bound) };
  const made = await meetings.make(host, plan, wish === true ? 'people' : wish.lobby);
  return {
    bytes: withLink(bytes, made, meetings, bound),
    note: (draft) => {
      releaseMeeting(draft, place);
      bindMeeting(draft, made.id, host, place);
    },
    undo: async () => await meetings.cancel(made.id),
  };
}

/** The object with one link of a meeting, or none, in the place of that of the `bound` one; CONFERENCEs that lead elsewhere stay (RFC 7986, 5.11). */
function withLink(
  bytes: Uint8Array,
  link: JoinLink | undefined,
  meetings: EntryMeetings,
  bound: string | undefined,
): Uint8Array {
  const object = readCalendarObject(bytes);
  const { master } = object;
  if (master === undefined) throw new Refusal('field_invalid', { field: 'meeting' });
  const conferences = propertiesOf(master, 'CONFERENCE');
  const isOurs = (url: string) =>
    meetings.read(url) !== undefined || (bound !== undefined && meetings.names(url, bound));
  const others = conferences.filter(({ value }) => !isOurs(value.trim()));
  const gone = conferences.filter((one) => !others.includes(one)).map(({ value }) => value);
  const url = propertyOf(master, 'URL');
  const isFree = url === undefined || gone.includes(url.value);
  const links = link === undefined ? [] : [conference(link.url)];
  return changeProperties(object, master, {
    CONFERENCE: [...others, ...links],
    ...(isFree ? { URL: link === undefined ? [] : [makeProperty('URL', link.url)] } : {}),
  });
}

function conference(url: string): Property {
  const parameters = [
    { name: 'VALUE', values: ['URI'] },
    { name: 'FEATURE', values: ['AUDIO', 'VIDEO'] },
  ];
  return { ...makeProperty('CONFERENCE', url), parameters };
}
