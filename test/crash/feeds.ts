/** Feeds under kills: a calendar that follows one comes to what the feed last said, and its readers with it. */
import { setTimeout as pause } from 'node:timers/promises';
import { call, makeCalendar } from '#test/calendar/service/calling.ts';
import { contents, feedOf, FeedServer, refresh, settled, vevent } from '#test/calendar/subscriptions/feed-server.ts';
import { CERTIFICATE, KEY } from '#test/push/loopback-provider.ts';
import type { SeededRandom } from '#test/support/random.ts';
import type { Person, TestServer } from '#test/support/server.ts';
import { ChangeFollower } from './change-follower.ts';
import { accepted, type Part, type PartOptions } from './part.ts';

/** Whose feeds are refreshed side by side: of one person they are one after the other. */
const READERS = ['flo', 'fay', 'fin'] as const;
const EVENTS = 300;
/** What a feed changes at a time, at most: several commits. */
const CHANGES_MAX = 150;
const BREATH_MILLIS_MIN = 50;
const BREATH_MILLIS_MAX = 300;
/** Refreshes asked for in one life of the server; one more is the check's. A person may ask for 10 in a minute. */
const REFRESHES_MAX = 8;
const FAULT_SHARE = 0.1;

interface Feed {
  readonly reader: Person;
  readonly path: string;
  readonly calendar: string;
  readonly follower: ChangeFollower;
  /** UID → title, as the feed has it now. */
  readonly events: Map<string, string>;
  /** Fetches that went wrong. */
  faults: number;
  /** Whether a refresh was promised behind the last change, and no fetch went wrong since it was asked for. */
  isPromised: boolean;
}

export class FeedsPart implements Part {
  readonly environment: Readonly<Record<string, string>>;
  readonly #options: PartOptions;
  readonly #server: FeedServer;
  readonly #faults: SeededRandom;
  #feeds: readonly Feed[] = [];
  #isBusy = false;
  #titles = 0;
  #refreshes = 0;
  #madeGood = 0;
  #compared = 0;

  private constructor(options: PartOptions, server: FeedServer) {
    this.#options = options;
    this.#server = server;
    this.#faults = options.random.fork();
    this.environment = { ...server.environment, PARLEY_ALLOW_PRIVATE_TARGETS: 'true' };
  }

  /** Starts the server of the feeds, under the certificate that pushes go by as well: one file names it. */
  static async open(options: PartOptions): Promise<FeedsPart> {
    return new FeedsPart(options, await FeedServer.open({ certificate: CERTIFICATE, key: KEY }));
  }

  get figures(): Record<string, number> {
    const deltas = this.#feeds.reduce((sum, { follower }) => sum + follower.deltas, 0);
    const faulty = this.#feeds.reduce((sum, { faults }) => sum + faults, 0);
    return { refreshes: this.#refreshes, faulty, madeGood: this.#madeGood, compared: this.#compared, deltas };
  }

  async settle(server: TestServer): Promise<void> {
    const { lose, random } = this.#options;
    const people = await server.people(...READERS);
    const feeds: Feed[] = [];
    for (const name of READERS) {
      const [path, reader] = [`/${name}.ics`, people[name]];
      const events = new Map(Array.from({ length: EVENTS }, (_, n) => [`${name}-${n}@feed`, this.#title()]));
      const url = this.#server.serve(path, textOf(events));
      const { id: calendar } = await makeCalendar(server, reader, { displayname: 'Feed', source: { url } });
      const follower = new ChangeFollower({ reader, calendar, random: random.fork(), lose });
      const feed: Feed = { reader, path, calendar, follower, events, faults: 0, isPromised: true };
      this.#serve(feed);
      feeds.push(feed);
    }
    this.#feeds = feeds;
  }

  async traffic(server: TestServer): Promise<void> {
    const { random } = this.#options;
    this.#isBusy = true;
    const all = this.#feeds.flatMap((feed) => [this.#publish(server, feed, random.fork()), feed.follower.run(server)]);
    await Promise.all(all);
    this.#isBusy = false;
  }

  async verify(server: TestServer): Promise<void> {
    await Promise.all(this.#feeds.map(async (feed) => await this.#compare(server, feed)));
  }

  async close(): Promise<void> {
    await this.#server.close();
  }

  /** Has the feed say something else again and again, and has it asked for. */
  async #publish(server: TestServer, feed: Feed, random: SeededRandom): Promise<void> {
    // What changes behind the kill was promised to nobody.
    for (let count = 0; count < REFRESHES_MAX && server.isRunning; count += 1) {
      feed.isPromised = false;
      for (let n = random.whole(1, CHANGES_MAX); n > 0; n -= 1) this.#change(feed, random);
      const { faults } = feed;
      const path = `/v1/calendars/${feed.calendar}/subscription/refresh`;
      const asked = await accepted(call(server, feed.reader, 'POST', path), this.#options.lose);
      if (asked === undefined) return;
      this.#refreshes += 1;
      feed.isPromised = feed.faults === faults;
      await pause(random.whole(BREATH_MILLIS_MIN, BREATH_MILLIS_MAX));
    }
  }

  #change({ events, path }: Feed, random: SeededRandom): void {
    const uid = random.pick([...events.keys()]);
    if (random.chance(0.3)) events.delete(uid);
    else if (random.chance(0.5)) events.set(uid, this.#title());
    if (random.chance(0.3) || events.size < EVENTS / 2) events.set(`${this.#titles}${path}@feed`, this.#title());
  }

  /** Serves what the feed says at that moment; at times nothing, or not all of it. */
  #serve(feed: Feed): void {
    this.#server.serve(feed.path, (response) => {
      const isFaulty = this.#isBusy && this.#faults.chance(FAULT_SHARE);
      const text = textOf(feed.events);
      if (!isFaulty) return response.writeHead(200, { 'content-type': 'text/calendar' }).end(text);
      feed.faults += 1;
      feed.isPromised = false;
      if (this.#faults.chance(0.5)) return response.writeHead(503).end();
      return response.writeHead(200, { 'content-type': 'text/calendar' }).end(text.slice(0, text.length / 2));
    });
  }

  async #compare(server: TestServer, feed: Feed): Promise<void> {
    const { calendar, events, follower, path, reader } = feed;
    // What was promised before the kill comes by itself.
    const state = feed.isPromised ? await settled(server, reader, calendar) : await refresh(server, reader, calendar);
    if (feed.isPromised) this.#madeGood += 1;
    feed.isPromised = true;
    if (state.state !== 'fresh') this.#options.lose(`${path} is ${state.state} with ${state.outcome}.`);
    const whole = await follower.compare(server);
    const { titles } = await contents(server, reader, calendar);
    const expected = [...events.values()].toSorted();
    this.#compared += expected.length;
    const wrong = [...new Set([...titles, ...expected])].filter(
      (title) => titles.includes(title) !== expected.includes(title),
    );
    if (wrong.length === 0 && whole?.etags.size === expected.length) return;
    const sizes = `${whole?.etags.size} entries of ${expected.length}`;
    this.#options.lose(`${path} has ${sizes}, ${wrong.length} of them wrong: ${wrong[0]}.`);
  }

  #title(): string {
    this.#titles += 1;
    return `Event ${this.#titles}`;
  }
}

function textOf(events: ReadonlyMap<string, string>): string {
  return feedOf([...events].map(([uid, title]) => vevent(uid, title)));
}
