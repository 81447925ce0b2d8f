/**
 * Alarms of the person's own entries that are due, as the socket tells them. It is in the first script, and draws nothing: the cards
 * come with the first reminder.
 */
import type { ServerEvent } from '#src/client/events.ts';
import type { ParleyClient } from '#src/client/parley-client.ts';
import { Observable } from '../../kit/observable.ts';

export type Reminder = ServerEvent<'calendar.reminder'>['data'];

/** Cards that wait to be closed. Beyond it the oldest goes: who was away for days finds the newest. */
const SHOWN_MAX = 20;
/** Reminders that are known again when they come twice, which they do shortly after a crash of the server. Beyond it the oldest go. */
const KNOWN_MAX = 500;

interface Closed {
  readonly closed: string;
}

export class Reminders extends Observable {
  readonly #client: ParleyClient;
  readonly #leads: () => boolean;
  readonly #known = new Set<string>();
  #channel: BroadcastChannel | undefined;
  #due: readonly Reminder[] = [];

  /** `leads` says whether this tab speaks for all of the browser's: it has the socket. */
  constructor(client: ParleyClient, leads: () => boolean) {
    super();
    this.#client = client;
    this.#leads = leads;
  }

  /** Those that nobody closed, the newest first. Every tab shows them, since nobody knows which one is looked at. */
  get due(): readonly Reminder[] {
    return this.#due;
  }

  /** Whether this tab is the one that tells the desktop. */
  get isTelling(): boolean {
    return this.#leads();
  }

  /** Follows the server and the other tabs from now on; the answer ends that. */
  start(): () => void {
    const { session, user } = this.#client;
    const channel = new BroadcastChannel(`parley.reminders ${user} ${session.device_id}`);
    this.#channel = channel;
    channel.addEventListener('message', ({ data }: MessageEvent<Closed>) => this.#drop(data.closed));
    const off = this.#client.on('calendar.reminder', ({ data }) => this.#take(data));
    return () => {
      off();
      channel.close();
    };
  }

  /** Puts one away, in all tabs. */
  close(id: string): void {
    this.#channel?.postMessage({ closed: id } satisfies Closed);
    this.#drop(id);
  }

  #take(reminder: Reminder): void {
    const { reminder_id: id } = reminder;
    if (this.#known.has(id)) return;
    this.#known.add(id);
    const [oldest = ''] = this.#known;
    if (this.#known.size > KNOWN_MAX) this.#known.delete(oldest);
    this.#due = [reminder, ...this.#due].slice(0, SHOWN_MAX);
    this.changed();
  }

  #drop(id: string): void {
    // One that another tab heard of and closed first is not shown here either.
    this.#known.add(id);
    this.#due = this.#due.filter((one) => one.reminder_id !== id);
    this.changed();
  }
}
