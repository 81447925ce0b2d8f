/**
 * Meetings (MTG-01): a room with a link and a lobby. The room is a conversation like any other, so who is in the meeting
 * calls, posts and leaves there by the rules of conversations; what is kept here is the plan, the link and who waits.
 */
import type { Clock } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import { formatInstant, parseInstant } from '#src/base/time.ts';
import type { Role } from '#src/protocol/conversations/conversations.ts';
import { hasAccountRight } from '#src/protocol/directory/account-rights.ts';
import { Refusal } from '#src/protocol/errors.ts';
import {
  MEETING_PARTICIPANTS_MAX,
  MEETING_WAITING_MAX,
  MEETINGS_PER_HOST_MAX,
  type ChangeMeeting,
  type CreateMeeting,
  type Lobby,
  type MeetingView,
} from '#src/protocol/meetings/meetings.ts';
import type { RequireQuota } from '#src/protocol/quotas.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { countDailyUse, readDailyUse } from '#storage/accounts/daily-use.ts';
import { defineCollection, type Entry } from '#storage/accounts/collections.ts';
import type { AccessControl } from '#src/directory/access-control.ts';
import type { MeetingLinks } from './meeting-links.ts';

export interface MeetingRecord {
  readonly title: string;
  readonly state: 'open' | 'cancelled';
  readonly host: string;
  /** RFC 3339; null for an instant meeting. */
  readonly startsAt: string | null;
  readonly endsAt: string | null;
  readonly lobby: Lobby;
  /** Which of the links that were made is in force. */
  readonly linkNumber: number;
  readonly conversation: string;
  readonly participants: readonly string[];
  readonly waiting: readonly string[];
  /** Turned away by the host: their link does not work any more. */
  readonly denied: readonly string[];
  readonly createdAt: string;
  readonly rev: number;
}

const meetings = defineCollection<MeetingRecord>('meetings', { version: 1 });
/** `<username>~<meeting>` → that the person takes part. */
const attendance = defineCollection<true>('meeting_attendance', { version: 1 });
/** Meeting → that it was made for an entry of a calendar, until it is cancelled. */
const entryMeetings = defineCollection<{ readonly host: string; readonly madeAt: number }>('meeting_entries', {
  version: 1,
});
/** Username → meetings hosted that are not cancelled. */
const hostTotals = defineCollection<number>('meeting_hosts', { version: 1 });

/** The rooms that meetings take place in; made by the conversations' own actors. */
export interface MeetingRooms {
  /** Makes a room that the host owns; answers its id. @throws Refusal. */
  make(title: string, host: string, participants: readonly string[]): Promise<string>;
  /** Adds somebody whom the host names, or asks them first as the policy has it. Whoever is in it already stays as they are. @throws Refusal. */
  invite(conversation: string, host: string, user: string, role: Role): Promise<void>;
  /** Adds somebody who came by themself. Whoever is in it already stays as they are. @throws Refusal. */
  add(conversation: string, host: string, user: string, role: Role): Promise<void>;
}

export interface MeetingsOptions {
  readonly accounts: Accounts;
  readonly access: AccessControl;
  readonly rooms: MeetingRooms;
  readonly links: MeetingLinks;
  readonly clock: Clock;
  readonly requireQuota: RequireQuota;
}

export type Joined =
  | { readonly status: 'admitted'; readonly meeting: MeetingView }
  | { readonly status: 'waiting'; readonly title: string };

export class Meetings {
  readonly #options: MeetingsOptions;

  constructor(options: MeetingsOptions) {
    this.#options = options;
  }

  /** @throws Refusal `right_missing` for a guest; `participant_unknown`, `meetings_full`, `quota_exceeded`, `field_invalid` for an end before its start. */
  async create(host: string, form: CreateMeeting, { isForEntry = false } = {}): Promise<MeetingView> {
    const { access, accounts, clock, requireQuota, rooms } = this.#options;
    if (!hasAccountRight('meeting.create', { isGuest: access.isGuest(host) })) throw new Refusal('right_missing');
    const now = clock.now();
    const [startsAt, endsAt] = [instantOf(form.starts_at, 'starts_at'), instantOf(form.ends_at, 'ends_at')];
    assertOrder(startsAt, endsAt);
    if ((accounts.document(hostTotals, host) ?? 0) >= MEETINGS_PER_HOST_MAX) throw new Refusal('meetings_full');
    const participants = [...new Set([host, ...form.participants])];
    this.#assertInvitable(host, form.participants, 'participants');
    if (participants.length > MEETING_PARTICIPANTS_MAX) throw new Refusal('field_invalid', { field: 'participants' });
    // Before there is a room: it is judged again where it is counted.
    requireQuota('meetings', host, readDailyUse(accounts, 'meetings', host, now), 1);
    const conversation = await rooms.make(form.title, host, participants.slice(1));
    const id = makeId('mtg', now);
    const record: MeetingRecord = {
      title: form.title,
      state: 'open',
      host,
      startsAt,
      endsAt,
      lobby: form.lobby,
      linkNumber: 1,
      conversation,
      participants,
      waiting: [],
      denied: [],
      createdAt: formatInstant(now),
      rev: 1,
    };
    await accounts.change((draft) => {
      const total = draft.document(hostTotals, host) ?? 0;
      if (total >= MEETINGS_PER_HOST_MAX) throw new Refusal('meetings_full');
      countDailyUse(draft, 'meetings', host, now, requireQuota);
      draft.putDocument(hostTotals, host, total + 1);
      draft.putDocument(meetings, id, record);
      for (const user of participants) draft.putDocument(attendance, attendanceId(user, id), true);
      if (isForEntry) draft.putDocument(entryMeetings, id, { host, madeAt: now });
      draft.audit(now, {
        event: 'meeting.created',
        actor: `user:${host}`,
        address: null,
        subject: `meeting:${id}`,
        details: { participants: participants.length },
      });
    });
    return this.#view(host, id, record);
  }

  /** Meetings that the person takes part in, oldest first, behind the meeting `after`. */
  list(user: string, after: string | undefined, limit: number): { items: MeetingView[]; next: string | null } {
    const { accounts } = this.#options;
    const found = accounts
      .documents(attendance, { after: attendanceId(user, after ?? ''), limit })
      .map(({ id }) => id)
      .filter((id) => id.startsWith(`${user}~`))
      .map((id) => id.slice(user.length + 1));
    const items = found.flatMap((id) => {
      const record = accounts.document(meetings, id);
      return record === undefined ? [] : [this.#view(user, id, record)];
    });
    return { items, next: found.length < limit ? null : (found.at(-1) ?? null) };
  }

  /** @throws Refusal `meeting_not_found` for one that is not there and one that the person takes no part in. */
  read(user: string, id: string): MeetingView {
    return this.#view(user, id, attended(this.#options.accounts, user, id));
  }

  /** @throws Refusal `meeting_not_found`, `right_missing`, `meeting_over`, `participant_unknown`, `meeting_full`. */
  async change(user: string, id: string, form: ChangeMeeting): Promise<MeetingView> {
    const { accounts, rooms } = this.#options;
    const before = hosted(accounts, user, id);
    const add = (form.add ?? []).filter((name) => !before.participants.includes(name));
    this.#assertInvitable(user, form.add ?? [], 'add');
    if (before.participants.length + add.length > MEETING_PARTICIPANTS_MAX) throw new Refusal('meeting_full');
    for (const name of add) await rooms.invite(before.conversation, user, name, this.#roleOf(name));
    return await this.#change(user, id, (record) => {
      const startsAt = form.starts_at === undefined ? record.startsAt : instantOf(form.starts_at, 'starts_at');
      const endsAt = form.ends_at === undefined ? record.endsAt : instantOf(form.ends_at, 'ends_at');
      assertOrder(startsAt, endsAt);
      const { title = record.title, lobby = record.lobby } = form;
      return { ...record, title, lobby, startsAt, endsAt, ...withParticipants(record, add) };
    });
  }

  /** Moves it to other times, null for none. @throws Refusal `meeting_not_found`, `right_missing`, `meeting_over`. */
  async move(host: string, id: string, plan: Pick<MeetingRecord, 'title' | 'startsAt' | 'endsAt'>): Promise<void> {
    await this.#change(host, id, (record) => {
      const { endsAt, startsAt, title } = record;
      const isThere = title === plan.title && startsAt === plan.startsAt && endsAt === plan.endsAt;
      return isThere ? record : { ...record, ...plan };
    });
  }

  /** Meetings that were made for entries of calendars and are not over, behind the meeting `after`. */
  forEntries(after: string | undefined, limit: number) {
    return this.#options.accounts.documents(entryMeetings, { ...(after === undefined ? {} : { after }), limit });
  }

  /** The link in force of the meeting that a link is or was of; undefined for what is no link of ours or is over. */
  linkLike(link: string): { readonly id: string; readonly link: string } | undefined {
    const id = this.#options.links.read(link)?.meeting;
    return id === undefined ? undefined : this.linkOf(id);
  }

  /** The link in force of a meeting; undefined where it is over. */
  linkOf(id: string): { readonly id: string; readonly link: string } | undefined {
    const { accounts, links } = this.#options;
    const record = accounts.document(meetings, id);
    return record !== undefined && this.#isOpen(record) ? { id, link: links.make(id, record.linkNumber) } : undefined;
  }

  /** Whether a link is in force, for whoever the meeting lets in. */
  isOpen(link: string): boolean {
    return this.linkLike(link)?.link === link;
  }

  /** Ends the link; the room and what was said in it stay. @throws Refusal `meeting_not_found`, `right_missing`. */
  async cancel(user: string, id: string): Promise<MeetingView> {
    const record = await this.#options.accounts.change((draft) => {
      const before = attended(draft, user, id);
      if (before.host !== user) throw new Refusal('right_missing');
      if (before.state === 'cancelled') return before;
      const after: MeetingRecord = { ...before, state: 'cancelled', waiting: [], rev: before.rev + 1 };
      draft.putDocument(meetings, id, after);
      draft.putDocument(hostTotals, user, (draft.document(hostTotals, user) ?? 1) - 1);
      draft.removeDocument(entryMeetings, id);
      return after;
    });
    return this.#view(user, id, record);
  }

  /** A new link; the one before lets nobody in any more. @throws Refusal `meeting_not_found`, `right_missing`, `meeting_over`. */
  async renewLink(user: string, id: string): Promise<MeetingView> {
    return await this.#change(user, id, (record) => ({ ...record, linkNumber: record.linkNumber + 1 }));
  }

  /**
   * Somebody comes by link: participants and those whom the lobby lets through are in, others wait.
   * @throws Refusal `meeting_not_found`, `meeting_over`, `meeting_forbidden` for whom the host turned away or may not
   * invite, `meeting_full`.
   */
  async join(user: string, link: string): Promise<Joined> {
    const { accounts, access, links } = this.#options;
    const found = links.read(link);
    const record = found === undefined ? undefined : accounts.document(meetings, found.meeting);
    if (found === undefined || record === undefined || record.linkNumber !== found.number) {
      throw new Refusal('meeting_not_found');
    }
    const id = found.meeting;
    if (!this.#isOpen(record)) throw new Refusal('meeting_over');
    if (record.participants.includes(user)) return { status: 'admitted', meeting: await this.#admit(id, user) };
    if (record.denied.includes(user) || !access.allows('invite', record.host, user)) {
      throw new Refusal('meeting_forbidden');
    }
    const waits = record.lobby === 'everyone_waits' || (record.lobby === 'people' && access.isGuest(user));
    if (!waits) return { status: 'admitted', meeting: await this.#admit(id, user) };
    await this.#change(record.host, id, (current) => {
      if (current.waiting.includes(user)) return current;
      if (current.waiting.length >= MEETING_WAITING_MAX) throw new Refusal('meeting_full');
      return { ...current, waiting: [...current.waiting, user] };
    });
    return { status: 'waiting', title: record.title };
  }

  /** @throws Refusal `meeting_not_found`, `right_missing`, `meeting_over`, `participant_not_found`, `meeting_full`. */
  async admit(host: string, id: string, user: string): Promise<MeetingView> {
    assertWaits(hosted(this.#options.accounts, host, id), user);
    await this.#admit(id, user);
    return this.read(host, id);
  }

  /** @throws Refusal `meeting_not_found`, `right_missing`, `meeting_over`, `participant_not_found`. */
  async deny(host: string, id: string, user: string): Promise<MeetingView> {
    return await this.#change(host, id, (record) => {
      assertWaits(record, user);
      const waiting = record.waiting.filter((one) => one !== user);
      // The oldest is forgotten beyond the limit, and may ask again.
      const denied = [...record.denied, user].slice(-MEETING_PARTICIPANTS_MAX);
      return { ...record, waiting, denied };
    });
  }

  /** All meetings, for the console. */
  listAll(after: string | undefined, limit: number): Entry<MeetingRecord>[] {
    return this.#options.accounts.documents(meetings, { ...(after === undefined ? {} : { after }), limit });
  }

  /** @throws Refusal `meeting_not_found`. */
  readAny(id: string): MeetingRecord {
    const record = this.#options.accounts.document(meetings, id);
    if (record === undefined) throw new Refusal('meeting_not_found');
    return record;
  }

  /** Puts a person into the room first and on the list then: who is on the list can always come in again. */
  async #admit(id: string, user: string): Promise<MeetingView> {
    const { accounts, rooms } = this.#options;
    const { conversation, host, participants } = this.readAny(id);
    if (!participants.includes(user) && participants.length >= MEETING_PARTICIPANTS_MAX) {
      throw new Refusal('meeting_full');
    }
    await rooms.add(conversation, host, user, this.#roleOf(user));
    await this.#change(host, id, (record) => ({ ...record, ...withParticipants(record, [user]) }));
    return this.#view(user, id, attended(accounts, user, id));
  }

  async #change(host: string, id: string, decide: (record: MeetingRecord) => MeetingRecord): Promise<MeetingView> {
    const record = await this.#options.accounts.change((draft) => {
      const before = hosted(draft, host, id);
      const after = decide(before);
      if (after === before) return before;
      const changed = { ...after, rev: before.rev + 1 };
      draft.putDocument(meetings, id, changed);
      for (const user of changed.participants) {
        if (!before.participants.includes(user)) draft.putDocument(attendance, attendanceId(user, id), true);
      }
      return changed;
    });
    return this.#view(host, id, record);
  }

  /** One answer for people who are not there and people whom the host may not invite. @throws Refusal `participant_unknown`. */
  #assertInvitable(host: string, people: readonly string[], field: string): void {
    const { accounts, access } = this.#options;
    const at = people.findIndex((user) => !accounts.isActive(user) || !access.allows('invite', host, user));
    if (at !== -1) throw new Refusal('participant_unknown', { field: `${field}.${at}` });
  }

  /** Whether its link lets anybody in: it is not cancelled, and no guest hosts it whose term is over. */
  #isOpen({ host, state }: MeetingRecord): boolean {
    return state === 'open' && !this.#options.access.isOver(host);
  }

  #roleOf(user: string): Role {
    return this.#options.access.isGuest(user) ? 'guest' : 'member';
  }

  #view(reader: string, id: string, record: MeetingRecord): MeetingView {
    const { conversation, host, linkNumber, participants, waiting } = record;
    return {
      ...shownOf(id, record),
      link: this.#options.links.make(id, linkNumber),
      conversation_id: conversation,
      participants: [...participants],
      ...(reader === host ? { waiting: [...waiting] } : {}),
      rev: record.rev,
    };
  }
}

/** What everybody who may see a meeting reads of it. */
export function shownOf(id: string, { createdAt, endsAt, host, lobby, startsAt, state, title }: MeetingRecord) {
  return {
    id,
    title,
    kind: startsAt === null ? ('instant' as const) : ('scheduled' as const),
    state,
    host,
    ...(startsAt === null ? {} : { starts_at: startsAt }),
    ...(endsAt === null ? {} : { ends_at: endsAt }),
    lobby,
    created_at: createdAt,
  };
}

type View = Pick<AccountsDraft, 'document'>;

function attended(view: View, user: string, id: string): MeetingRecord {
  const record = view.document(meetings, id);
  if (record === undefined || !record.participants.includes(user)) throw new Refusal('meeting_not_found');
  return record;
}

/** A meeting that the person may change. @throws Refusal `meeting_not_found`, `right_missing`, `meeting_over`. */
function hosted(view: View, user: string, id: string): MeetingRecord {
  const record = attended(view, user, id);
  if (record.host !== user) throw new Refusal('right_missing');
  if (record.state === 'cancelled') throw new Refusal('meeting_over');
  return record;
}

function assertWaits(record: MeetingRecord, user: string): void {
  if (!record.waiting.includes(user)) throw new Refusal('participant_not_found');
}

function withParticipants(record: MeetingRecord, added: readonly string[]) {
  const participants = [...new Set([...record.participants, ...added])];
  return { participants, waiting: record.waiting.filter((user) => !added.includes(user)) };
}

function attendanceId(user: string, meeting: string): string {
  return `${user}~${meeting}`;
}

/** The instant as it is stored; null for none. @throws Refusal `field_invalid`. */
function instantOf(text: string | undefined, field: string): string | null {
  if (text === undefined) return null;
  const millis = parseInstant(text);
  if (millis === undefined) throw new Refusal('field_invalid', { field });
  return formatInstant(millis);
}

function assertOrder(startsAt: string | null, endsAt: string | null): void {
  if (endsAt !== null && (startsAt === null || endsAt <= startsAt)) {
    throw new Refusal('field_invalid', { field: 'ends_at' });
  }
}
