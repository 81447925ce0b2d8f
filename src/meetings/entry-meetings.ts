/** Meetings that are made for entries of calendars, as the calendar service asks for them. */
import { Refusal } from '#src/protocol/errors.ts';
import { JOIN_PATH, type Lobby } from '#src/protocol/meetings/meetings.ts';
import { formatInstant } from '#src/base/time.ts';
import type { Meetings } from './meetings.ts';

/** What a meeting takes over from its entry; instants in milliseconds since 1970, no end for a series without one. */
export interface MeetingPlan {
  readonly title: string;
  readonly startsAt: number;
  readonly endsAt: number | null;
}

export interface JoinLink {
  readonly id: string;
  readonly url: string;
}

/** @param base the coordinator's URL, which is known once it listens. */
export function makeEntryMeetings(meetings: Meetings, base: () => string) {
  const urlOf = (found: { readonly id: string; readonly link: string } | undefined): JoinLink | undefined =>
    found === undefined ? undefined : { id: found.id, url: `${base()}${JOIN_PATH}${found.link}` };
  return {
    /** @throws Refusal `meetings_full`. */
    async make(host: string, plan: MeetingPlan, lobby: Lobby): Promise<JoinLink> {
      const { endsAt, startsAt, title } = timesOf(plan);
      const times = { starts_at: startsAt, ...(endsAt === null ? {} : { ends_at: endsAt }) };
      const form = { title, lobby, participants: [], ...times };
      const { id } = await meetings.create(host, form, { isForEntry: true });
      return urlOf(meetings.linkOf(id)) as JoinLink;
    },
    /** Has it follow its entry; answers whether it is still there to do so. */
    async follow(id: string, plan: MeetingPlan): Promise<boolean> {
      return await unlessOver(() => meetings.move(id, timesOf(plan)));
    },
    /** Ends it, whoever hosts it by now. */
    async cancel(id: string): Promise<void> {
      await unlessOver(() => meetings.end(id, { actor: 'server', address: null }));
    },
    find: (id: string): JoinLink | undefined => urlOf(meetings.linkOf(id)),
    /** The meeting whose link a URL is, on whatever host; undefined for any other URL, and for one that is over. */
    read(url: string): JoinLink | undefined {
      const at = url.lastIndexOf(JOIN_PATH);
      return at === -1 ? undefined : urlOf(meetings.linkLike(url.slice(at + JOIN_PATH.length)));
    },
    names: (url: string, id: string): boolean => url.includes(`${JOIN_PATH}${id}.`),
    /** Those that are not over, and when they were made. */
    list: (after: string | undefined, limit: number) =>
      meetings.forEntries(after, limit).map(({ id, document }) => ({ id, ...document })),
  };
}

function timesOf({ endsAt, startsAt, title }: MeetingPlan) {
  return { title, startsAt: formatInstant(startsAt), endsAt: endsAt === null ? null : formatInstant(endsAt) };
}

/** Answers whether it was done, and not the meeting over by then. */
async function unlessOver(action: () => Promise<unknown>): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (error) {
    const isOver = error instanceof Refusal && ['meeting_over', 'meeting_not_found'].includes(error.code);
    if (!isOver) throw error;
    return false;
  }
}
