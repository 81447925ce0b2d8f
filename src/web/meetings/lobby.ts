/** Who waits to be let into the meetings that the person hosts, as events tell. */
import type { Meeting } from '#src/client/meetings.ts';
import type { ParleyClient } from '#src/client/parley-client.ts';
import { toParleyError } from '#src/client/parley-error.ts';
import { addWords } from '../kit/language.ts';
import { Observable } from '../kit/observable.ts';
import { MEETING_WORDS } from './meeting-words.ts';

/** Somebody in a lobby. */
export interface Waiting {
  readonly meeting: Meeting;
  readonly user: string;
}

export class Lobby extends Observable {
  readonly #client: ParleyClient;
  readonly #meetings = new Map<string, Meeting>();
  #waiting: readonly Waiting[] = [];

  constructor(client: ParleyClient) {
    super();
    this.#client = client;
    const look = () => void this.#readAll().catch(() => undefined);
    client.on('caught-up', look);
    if (client.isCaughtUp) look();
    client.on('membership', ({ data }) => {
      if ('meeting_id' in data) void this.#read(data.meeting_id).catch(() => undefined);
    });
  }

  /** Those who came first stand first. */
  get waiting(): readonly Waiting[] {
    return this.#waiting;
  }

  /** @throws ParleyError `participant_not_found` for who waits no more, `meeting_full`, `meeting_over`. */
  async decide({ meeting, user }: Waiting, isAdmitted: boolean): Promise<void> {
    const params = { meeting: meeting.id, username: user };
    try {
      this.#keep(await this.#client.meetings.call(isAdmitted ? 'admitToMeeting' : 'denyMeeting', { params }));
    } catch (thrown) {
      // Another device was faster, or they went: what is shown is put right.
      if (toParleyError(thrown).code !== 'participant_not_found') throw thrown;
      await this.#read(meeting.id);
    }
    await this.#settle();
  }

  async #readAll(): Promise<void> {
    const found = await this.#client.meetings.waitedFor();
    this.#meetings.clear();
    for (const meeting of found) this.#keep(meeting);
    await this.#settle();
  }

  async #read(id: string): Promise<void> {
    try {
      this.#keep(await this.#client.meetings.call('readMeeting', { params: { meeting: id } }));
    } catch (thrown) {
      if (toParleyError(thrown).code !== 'meeting_not_found') throw thrown;
      this.#meetings.delete(id);
    }
    await this.#settle();
  }

  #keep(meeting: Meeting): void {
    if (meeting.host === this.#client.user && (meeting.waiting?.length ?? 0) > 0)
      this.#meetings.set(meeting.id, meeting);
    else this.#meetings.delete(meeting.id);
  }

  async #settle(): Promise<void> {
    // Most host no meeting: the words come with the first who waits.
    if (this.#meetings.size > 0) await addWords(MEETING_WORDS);
    this.#waiting = [...this.#meetings.values()].flatMap((meeting) =>
      (meeting.waiting ?? []).map((user) => ({ meeting, user })),
    );
    this.changed();
  }
}
