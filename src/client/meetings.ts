/** Meetings as the client asks the coordinator: each call typed by the protocol's routes (MTG-01). */
import type { z } from 'zod';
import type { MEETING_ROUTES } from '#src/protocol/meetings/meeting-routes.ts';
import { fillPath, type Infer, type NamesIn } from './calls.ts';
import type { Http } from './connection/http.ts';
import type { Session } from './connection/session.ts';
import type { ChatConversation } from './conversations/records.ts';

type Routes = typeof MEETING_ROUTES;
export type MeetingRoute = keyof Routes;

/** Written out for the reason that `CALLS` is: the route table would bring the schema library along. */
const MEETING_CALLS: { readonly [Name in MeetingRoute]: readonly [Routes[Name]['method'], Routes[Name]['path']] } = {
  createMeeting: ['post', '/v1/meetings'],
  listMeetings: ['get', '/v1/meetings'],
  readMeeting: ['get', '/v1/meetings/:meeting'],
  changeMeeting: ['patch', '/v1/meetings/:meeting'],
  cancelMeeting: ['post', '/v1/meetings/:meeting/cancel'],
  handOverMeeting: ['post', '/v1/meetings/:meeting/host'],
  renewMeetingLink: ['post', '/v1/meetings/:meeting/link'],
  joinMeeting: ['post', '/v1/meetings/join/:link'],
  admitToMeeting: ['post', '/v1/meetings/:meeting/waiting/:username/admit'],
  denyMeeting: ['post', '/v1/meetings/:meeting/waiting/:username/deny'],
};

/** What a call takes: every path parameter by name, and the body and query of its route. */
export interface MeetingCallInput<Name extends MeetingRoute> {
  readonly params: { readonly [P in NamesIn<Routes[Name]['path']>]: string };
  readonly body?: Routes[Name] extends { body: infer Schema extends z.ZodType } ? z.input<Schema> : undefined;
  readonly query?: Routes[Name] extends { query: infer Schema extends z.ZodType }
    ? { readonly [Key in keyof z.input<Schema>]?: string | number | undefined }
    : undefined;
}
export type MeetingReplyOf<Name extends MeetingRoute> = Infer<Routes[Name]['replies'][keyof Routes[Name]['replies']]>;
export type Meeting = MeetingReplyOf<'readMeeting'>;

/** What came of a link: in the meeting and its room, or in its lobby until the host decides. */
export type MeetingEntrance =
  | { readonly status: 'admitted'; readonly meeting: Meeting; readonly conversation: ChatConversation }
  | { readonly status: 'waiting'; readonly title: string };

export interface MeetingsOptions {
  readonly session: Session;
  readonly http: Http;
  /** Reads a room that the person came into just now, and follows it. */
  readonly enter: (conv: string) => Promise<ChatConversation>;
}

export class Meetings {
  readonly #options: MeetingsOptions;

  constructor(options: MeetingsOptions) {
    this.#options = options;
  }

  /** Any call of the route table, with the session's credential. @throws ParleyError */
  async call<Name extends MeetingRoute>(name: Name, input: MeetingCallInput<Name>): Promise<MeetingReplyOf<Name>> {
    const { http, session } = this.#options;
    const [method, path] = MEETING_CALLS[name];
    const { body, params, query } = input;
    const request = { method, path: fillPath(path, params), body, query };
    return (await session.request(http, request)) as MeetingReplyOf<Name>;
  }

  /**
   * Comes by link. Who waits asks again when a `membership` event with a `meeting_id` comes, and after each `caught-up`.
   * @throws ParleyError `meeting_not_found`, `meeting_over`, `meeting_forbidden`, `meeting_full`, `conversation_archived`.
   */
  async join(link: string): Promise<MeetingEntrance> {
    const entrance = await this.call('joinMeeting', { params: { link } });
    if (entrance.status === 'waiting') return entrance;
    return { ...entrance, conversation: await this.#options.enter(entrance.meeting.conversation_id) };
  }

  /** The meeting that a room is of; undefined for a room that is of none. @throws ParleyError */
  async ofRoom(conversation: string): Promise<Meeting | undefined> {
    for await (const meeting of this.#walk({ conversation })) return meeting;
    return undefined;
  }

  /** The meetings of the person in whose lobby somebody waits. @throws ParleyError */
  async waitedFor(): Promise<Meeting[]> {
    const found: Meeting[] = [];
    for await (const meeting of this.#walk({ waiting: 'true' })) found.push(meeting);
    return found;
  }

  async *#walk(query: { readonly conversation?: string; readonly waiting?: 'true' }): AsyncGenerator<Meeting> {
    let after: string | undefined;
    do {
      const { items, next } = await this.call('listMeetings', { params: {}, query: { ...query, after } });
      yield* items;
      after = next ?? undefined;
    } while (after !== undefined);
  }
}
