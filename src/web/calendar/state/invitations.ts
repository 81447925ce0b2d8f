/** Invitations that wait for an answer, and times that somebody proposes instead or did not take. */
import type { CalendarApi, CalendarReplyOf } from '#src/client/calendar-api.ts';
import type { ParleyClient } from '#src/client/parley-client.ts';
import { Observable } from '../../kit/observable.ts';

export type Invitation = CalendarReplyOf<'listInvitations'>['items'][number];
export type Proposal = CalendarReplyOf<'listProposals'>['items'][number];

/** Invitations shown at once; those behind them come when some are answered. */
const SHOWN_MAX = 50;
/** A change of many entries is one look. */
const PAUSE_MILLIS = 300;

export class Invitations extends Observable {
  readonly #client: ParleyClient;
  readonly #api: CalendarApi;
  #items: readonly Invitation[] = [];
  #proposals: readonly Proposal[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asked = 0;

  constructor(client: ParleyClient, api: CalendarApi) {
    super();
    this.#client = client;
    this.#api = api;
  }

  get items(): readonly Invitation[] {
    return this.#items;
  }

  get proposals(): readonly Proposal[] {
    return this.#proposals;
  }

  /** Follows the server from now on; the answer ends that. */
  start(): () => void {
    void this.load();
    const soon = () => {
      clearTimeout(this.#timer);
      this.#timer = setTimeout(() => void this.load(), PAUSE_MILLIS);
    };
    const events = ['calendar.changed', 'calendar.proposal', 'caught-up'] as const;
    const off = events.map((event) => this.#client.on(event, soon));
    return () => {
      clearTimeout(this.#timer);
      off.forEach((unsubscribe) => unsubscribe());
    };
  }

  async load(): Promise<void> {
    this.#asked += 1;
    const asked = this.#asked;
    try {
      const [invitations, proposals] = await Promise.all([
        this.#api.call('listInvitations', { params: {}, query: { limit: SHOWN_MAX } }),
        this.#api.call('listProposals', { params: {} }),
      ]);
      if (asked !== this.#asked) return;
      this.#items = invitations.items;
      this.#proposals = proposals.items;
      this.changed();
    } catch {
      // The list says what is wrong with the server; this is asked again once the socket is back.
    }
  }
}
