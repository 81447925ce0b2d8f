/**
 * Meetings (MTG-01): a room with a link and a lobby. The room is a conversation like any other, so who is in the meeting
 * calls, posts and leaves there by the rules of conversations; what is kept here is the plan, the link and who waits.
 *
 *     link ─► in the room? ─► taken out of it? ─► on the list? ─► lobby ─► in
 *                              └─────────── waits for the host ──┘
 */
import { withoutNames } from '#src/base/name-forms.ts';
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
  type MeetingNews,
  type MeetingView,
} from '#src/protocol/meetings/meetings.ts';
import { ERASED_NAME } from '#src/protocol/names.ts';
import type { RequireQuota } from '#src/protocol/quotas.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { countDailyUse, readDailyUse } from '#storage/accounts/daily-use.ts';
import { defineCollection, type Entry } from '#storage/accounts/collections.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import type { SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import type { AccessControl } from '#src/directory/access-control.ts';
import type { MeetingLinks } from './meeting-links.ts';
import type { MeetingRooms } from './meeting-rooms.ts';

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
  /** Turned away by the host: no link lets them in, until the host adds them. */
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

export interface MeetingsOptions {
  readonly accounts: Accounts;
  readonly announcer: Pick<SessionAnnouncer, 'meetingChanged'>;
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
      countHosted(draft, host, 1);
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

  /** Of the next `limit` meetings that the person takes part in behind `after`, oldest first, those that are asked for. */
  list(
    user: string,
    after: string | undefined,
    limit: number,
    {
      conversation,
      isWaitedFor = false,
    }: { readonly conversation?: string | undefined; readonly isWaitedFor?: boolean } = {},
  ): { items: MeetingView[]; next: string | null } {
    const { accounts } = this.#options;
    const found = accounts
      .documents(attendance, { after: attendanceId(user, after ?? ''), limit })
      .map(({ id }) => id)
      .filter((id) => id.startsWith(`${user}~`))
      .map((id) => id.slice(user.length + 1));
    const items = found.flatMap((id) => {
      const record = accounts.document(meetings, id);
      if (record === undefined || !this.#takesPart(user, record)) return [];
      if (conversation !== undefined && record.conversation !== conversation) return [];
      if (isWaitedFor && (record.host !== user || record.waiting.length === 0)) return [];
      return [this.#view(user, id, record)];
    });
    return { items, next: found.length < limit ? null : (found.at(-1) ?? null) };
  }

  /** @throws Refusal `meeting_not_found` for one that is not there and one that the person takes no part in. */
  read(user: string, id: string): MeetingView {
    const record = this.readAny(id);
    if (!this.#takesPart(user, record)) throw new Refusal('meeting_not_found');
    return this.#view(user, id, record);
  }

  /**
   * Whoever is added is in, also when they were taken out or turned away before, or is asked first as the policy has it.
   * @throws Refusal `meeting_not_found`, `right_missing`, `meeting_over`, `participant_unknown`, `meeting_full`.
   */
  async change(user: string, id: string, form: ChangeMeeting): Promise<MeetingView> {
    const before = this.#hosted(this.#options.accounts, user, id);
    const { add = [] } = form;
    this.#assertInvitable(user, add, 'add');
    if (new Set([...before.participants, ...add]).size > MEETING_PARTICIPANTS_MAX) throw new Refusal('meeting_full');
    for (const name of add) await this.#invite(before, name);
    return await this.#change(id, user, (record) => {
      const startsAt = form.starts_at === undefined ? record.startsAt : instantOf(form.starts_at, 'starts_at');
      const endsAt = form.ends_at === undefined ? record.endsAt : instantOf(form.ends_at, 'ends_at');
      assertOrder(startsAt, endsAt);
      const { title = record.title, lobby = record.lobby } = form;
      return { ...record, title, lobby, startsAt, endsAt, ...withParticipants(record, add) };
    });
  }

  /** Moves it to other times, null for none, on the server's word. @throws Refusal `meeting_not_found`, `meeting_over`. */
  async move(id: string, plan: Pick<MeetingRecord, 'title' | 'startsAt' | 'endsAt'>): Promise<void> {
    await this.#change(id, undefined, (record) => {
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

  /**
   * Ends the link and the calls of the room, which stays with what was said in it; for the host and the room's owners.
   * @throws Refusal `meeting_not_found`, `right_missing`.
   */
  async cancel(user: string, id: string): Promise<MeetingView> {
    this.#assertManages(user, this.readAny(id));
    return this.#view(user, id, await this.end(id, byPerson(user)));
  }

  /** Cancels it on behalf of whoever may; one that is over stays as it is. @throws Refusal `meeting_not_found`. */
  async end(id: string, by: AuditActor): Promise<MeetingRecord> {
    const { accounts, announcer, clock, rooms } = this.#options;
    const { after, before } = await accounts.change((draft) => {
      const record = storedMeeting(draft, id);
      if (record.state === 'cancelled') return { after: record, before: record };
      const ended = put(draft, id, record, { ...record, state: 'cancelled', waiting: [] });
      countHosted(draft, record.host, -1);
      draft.removeDocument(entryMeetings, id);
      draft.audit(clock.now(), { event: 'meeting.cancelled', ...by, subject: `meeting:${id}`, details: {} });
      return { after: ended, before: record };
    });
    if (after === before) return after;
    await rooms.endCalls(after.conversation);
    const told = [...before.participants, ...before.waiting];
    announcer.meetingChanged(told, { meeting_id: id, action: 'ended', user: after.host });
    return after;
  }

  /**
   * Has another participant host it; for the host and the room's owners.
   * @throws Refusal `meeting_not_found`, `right_missing`, and as `give`.
   */
  async handOver(user: string, id: string, to: string): Promise<MeetingView> {
    this.#assertManages(user, this.readAny(id));
    return this.#view(user, id, await this.give(id, to, byPerson(user)));
  }

  /**
   * Has a participant host it, and own its room beside those who do, on behalf of whoever may.
   * @throws Refusal `meeting_not_found`, `meeting_over`; `participant_not_found` for who takes no part or cannot sign in,
   * `field_invalid` for a guest, `meetings_full` for who hosts as many as they may.
   */
  async give(id: string, to: string, by: AuditActor): Promise<MeetingRecord> {
    const { access, accounts, announcer, clock } = this.#options;
    const before = this.readAny(id);
    if (before.state === 'cancelled') throw new Refusal('meeting_over');
    if (!this.#takesPart(to, before) || !accounts.isActive(to)) throw new Refusal('participant_not_found');
    if (access.isGuest(to)) throw new Refusal('field_invalid', { field: 'user' });
    if (before.host === to) return before;
    await this.#seat({ ...before, host: to }, to, to);
    const after = await accounts.change((draft) => {
      const record = storedMeeting(draft, id);
      if (record.state === 'cancelled') throw new Refusal('meeting_over');
      if (record.host === to) return record;
      if ((draft.document(hostTotals, to) ?? 0) >= MEETINGS_PER_HOST_MAX) throw new Refusal('meetings_full');
      countHosted(draft, record.host, -1);
      countHosted(draft, to, 1);
      const details = { before: { user: record.host }, after: { user: to } };
      draft.audit(clock.now(), { event: 'meeting.host_changed', ...by, subject: `meeting:${id}`, details });
      return put(draft, id, record, { ...record, host: to, ...withParticipants(record, [to]) });
    });
    announcer.meetingChanged([before.host, to], { meeting_id: id, action: 'host', user: to });
    return after;
  }

  /** A new link; the one before lets nobody in any more. @throws Refusal `meeting_not_found`, `right_missing`, `meeting_over`. */
  async renewLink(user: string, id: string): Promise<MeetingView> {
    return await this.#change(id, user, (record) => ({ ...record, linkNumber: record.linkNumber + 1 }));
  }

  /**
   * Somebody comes by link: who is in the room or on the list and those whom the lobby lets through are in, others wait,
   * and so does whoever was taken out of the room.
   * @throws Refusal `meeting_not_found`, `meeting_over`, `meeting_forbidden` for whom the host turned away or may not
   * invite, `meeting_full`.
   */
  async join(user: string, link: string): Promise<Joined> {
    const { accounts, access, links, rooms } = this.#options;
    const read = links.read(link);
    const record = read === undefined ? undefined : accounts.document(meetings, read.meeting);
    if (read === undefined || record === undefined || record.linkNumber !== read.number) {
      throw new Refusal('meeting_not_found');
    }
    const id = read.meeting;
    const { role, room, wasRemoved } = rooms.standing(record.conversation, user);
    if (!this.#isOpen(record) || room === 'deleted') throw new Refusal('meeting_over');
    if (record.denied.includes(user) && role === undefined) throw new Refusal('meeting_forbidden');
    if (this.#takesPart(user, record)) return { status: 'admitted', meeting: await this.#admit(id, user, user) };
    if (!access.allows('invite', record.host, user)) throw new Refusal('meeting_forbidden');
    const isKept = record.lobby === 'everyone_waits' || (record.lobby === 'people' && access.isGuest(user));
    if (!isKept && !wasRemoved) return { status: 'admitted', meeting: await this.#admit(id, user, user) };
    await this.#wait(id, user);
    return { status: 'waiting', title: record.title };
  }

  /**
   * Nobody is let in who was blocked, or whose term ended, while they waited: they would be in the room once they may sign in again.
   * @throws Refusal `meeting_not_found`, `right_missing`, `meeting_over`, `participant_not_found`, `meeting_full`.
   */
  async admit(host: string, id: string, user: string): Promise<MeetingView> {
    const { access, accounts } = this.#options;
    assertWaits(this.#hosted(accounts, host, id), user);
    if (!accounts.isActive(user) || access.isOver(user)) throw new Refusal('participant_not_found');
    await this.#admit(id, user, host);
    this.#tell([user, host], { meeting_id: id, action: 'admitted', user });
    return this.read(host, id);
  }

  /** @throws Refusal `meeting_not_found`, `right_missing`, `meeting_over`, `participant_not_found`. */
  async deny(host: string, id: string, user: string): Promise<MeetingView> {
    const view = await this.#change(id, host, (record) => {
      assertWaits(record, user);
      const waiting = record.waiting.filter((one) => one !== user);
      // The oldest is forgotten beyond the limit, and may ask again.
      const denied = [...record.denied, user].slice(-MEETING_PARTICIPANTS_MAX);
      return { ...record, waiting, denied };
    });
    this.#tell([user, host], { meeting_id: id, action: 'denied', user });
    return view;
  }

  /** All meetings, for the console. */
  listAll(after: string | undefined, limit: number): Entry<MeetingRecord>[] {
    return this.#options.accounts.documents(meetings, { ...(after === undefined ? {} : { after }), limit });
  }

  /** @throws Refusal `meeting_not_found`. */
  readAny(id: string): MeetingRecord {
    return storedMeeting(this.#options.accounts, id);
  }

  /** Whoever was taken out of the room waits behind those who do already, is on the list no more, and the host is told. */
  async #wait(id: string, user: string): Promise<void> {
    let isNews = false;
    const { host } = await this.#put(id, (record) => {
      isNews = !record.waiting.includes(user);
      if (!isNews) return record;
      if (record.waiting.length >= MEETING_WAITING_MAX) throw new Refusal('meeting_full');
      const participants = record.participants.filter((one) => one !== user);
      return { ...record, participants, waiting: [...record.waiting, user] };
    });
    if (isNews) this.#tell([host], { meeting_id: id, action: 'waiting', user });
  }

  /** Puts a person into the room first and on the list then: who is on the list can always come in again. */
  async #admit(id: string, user: string, by: string): Promise<MeetingView> {
    const record = this.readAny(id);
    if (!record.participants.includes(user) && record.participants.length >= MEETING_PARTICIPANTS_MAX) {
      throw new Refusal('meeting_full');
    }
    await this.#seat(record, user, by);
    const admitted = await this.#put(id, (current) => {
      const isThere = current.participants.includes(user) && !current.waiting.includes(user);
      return isThere ? current : { ...current, ...withParticipants(current, [user]) };
    });
    return this.#view(user, id, admitted);
  }

  /** Gives a person a place in the meeting's room, which its host owns, and which is made anew where everybody left it. */
  async #seat({ conversation, host, title }: MeetingRecord, user: string, by: string): Promise<void> {
    const { access, accounts, rooms } = this.#options;
    const { role, room } = rooms.standing(conversation, user);
    if (room === 'deleted' || (room === 'left' && !accounts.isActive(host))) throw new Refusal('meeting_over');
    if (room === 'left') await rooms.remake(conversation, title, host);
    // A guest of somebody takes part where that one does.
    const inviter = role === undefined ? access.hostOf(user) : undefined;
    if (inviter !== undefined && rooms.standing(conversation, inviter).role === undefined) {
      throw new Refusal('meeting_forbidden');
    }
    const meant: Role = access.isGuest(user) ? 'guest' : user === host ? 'owner' : 'member';
    if (role === undefined || meant === 'owner') await rooms.seat(conversation, user, meant, by);
  }

  /** Has the host add somebody to the room, or ask them first as the policy has it. Who is asked comes in by the link, too. */
  async #invite(record: MeetingRecord, user: string): Promise<void> {
    const { conversation, host } = record;
    const { access, rooms } = this.#options;
    await this.#seat(record, host, host);
    if (rooms.standing(conversation, user).role !== undefined) return;
    await rooms.invite(conversation, host, user, access.isGuest(user) ? 'guest' : 'member');
  }

  /** A change by the host, or of the server where nobody is named. */
  async #change(
    id: string,
    host: string | undefined,
    decide: (record: MeetingRecord) => MeetingRecord,
  ): Promise<MeetingView> {
    const record = await this.#put(id, (before, draft) => {
      if (host !== undefined) this.#hosted(draft, host, id);
      return decide(before);
    });
    return this.#view(host ?? record.host, id, record);
  }

  /** @throws Refusal `meeting_not_found`, `meeting_over`, and as `decide` does. */
  async #put(
    id: string,
    decide: (record: MeetingRecord, draft: AccountsDraft) => MeetingRecord,
  ): Promise<MeetingRecord> {
    return await this.#options.accounts.change((draft) => {
      const before = storedMeeting(draft, id);
      const after = decide(before, draft);
      if (before.state === 'cancelled') throw new Refusal('meeting_over');
      return put(draft, id, before, after);
    });
  }

  #tell(people: readonly string[], news: MeetingNews): void {
    this.#options.announcer.meetingChanged(people, news);
  }

  /** Whether somebody is in the room, or on the list and not taken out of the room. The host always takes part. */
  #takesPart(user: string, { conversation, host, participants }: MeetingRecord): boolean {
    if (user === host) return true;
    const { role, wasRemoved } = this.#options.rooms.standing(conversation, user);
    return role !== undefined || (participants.includes(user) && !wasRemoved);
  }

  /** A meeting that the person hosts. @throws Refusal `meeting_not_found`, `right_missing`, `meeting_over`. */
  #hosted(view: View, user: string, id: string): MeetingRecord {
    const record = storedMeeting(view, id);
    if (!this.#takesPart(user, record)) throw new Refusal('meeting_not_found');
    if (record.host !== user) throw new Refusal('right_missing');
    if (record.state === 'cancelled') throw new Refusal('meeting_over');
    return record;
  }

  /** @throws Refusal `meeting_not_found` for who takes no part, `right_missing` for who neither hosts it nor owns its room. */
  #assertManages(user: string, record: MeetingRecord): void {
    if (record.host === user) return;
    if (!this.#takesPart(user, record)) throw new Refusal('meeting_not_found');
    const { role } = this.#options.rooms.standing(record.conversation, user);
    if (role !== 'owner') throw new Refusal('right_missing');
  }

  /**
   * One answer for people who are not there and people whom the host may not bring into a room, where they are spoken to.
   * @throws Refusal `participant_unknown`.
   */
  #assertInvitable(host: string, people: readonly string[], field: string): void {
    const { accounts, access } = this.#options;
    const mayReach = (user: string) => access.allows('invite', host, user) && access.allows('message', host, user);
    const at = people.findIndex((user) => !accounts.isActive(user) || access.isOver(user) || !mayReach(user));
    if (at !== -1) throw new Refusal('participant_unknown', { field: `${field}.${at}` });
  }

  /** Whether its link lets anybody in: it is not cancelled, and no guest hosts it whose term is over. */
  #isOpen({ host, state }: MeetingRecord): boolean {
    return state === 'open' && !this.#options.access.isOver(host);
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

/** @throws Refusal `meeting_not_found`. */
function storedMeeting(view: View, id: string): MeetingRecord {
  const record = view.document(meetings, id);
  if (record === undefined) throw new Refusal('meeting_not_found');
  return record;
}

/** Writes a changed record, and who takes part by it; one that is unchanged stays as it is. */
function put(draft: AccountsDraft, id: string, before: MeetingRecord, after: MeetingRecord): MeetingRecord {
  if (after === before) return before;
  const changed = { ...after, rev: before.rev + 1 };
  draft.putDocument(meetings, id, changed);
  const [was, is] = [new Set(before.participants), new Set(after.participants)];
  for (const user of is) if (!was.has(user)) draft.putDocument(attendance, attendanceId(user, id), true);
  for (const user of was) if (!is.has(user)) draft.removeDocument(attendance, attendanceId(user, id));
  return changed;
}

/** Puts a stand-in where titles of meetings say `@user`, or another name, of a person who is erased. @throws Refusal `storage_full`, `busy`. */
export async function eraseFromMeetings(accounts: Accounts, user: string, names: readonly string[]): Promise<void> {
  const without = (title: string) => withoutNames(title, { user, names, standIn: ERASED_NAME });
  const named = accounts.documents(meetings).filter(({ document: { title } }) => without(title) !== title);
  if (named.length === 0) return;
  await accounts.change((draft) => {
    for (const { id } of named) {
      const record = storedMeeting(draft, id);
      put(draft, id, record, { ...record, title: without(record.title) });
    }
  });
}

function countHosted(draft: AccountsDraft, host: string, by: number): void {
  draft.putDocument(hostTotals, host, Math.max(0, (draft.document(hostTotals, host) ?? 0) + by));
}

function byPerson(user: string): AuditActor {
  return { actor: `user:${user}`, address: null };
}

function assertWaits(record: MeetingRecord, user: string): void {
  if (!record.waiting.includes(user)) throw new Refusal('participant_not_found');
}

function withParticipants(record: MeetingRecord, added: readonly string[]) {
  const participants = [...new Set([...record.participants, ...added])];
  const isLeft = (user: string) => !added.includes(user);
  return { participants, waiting: record.waiting.filter(isLeft), denied: record.denied.filter(isLeft) };
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
