/**
 * Previews of links: after a text with a link is on disk, this thread reads the first link's page beside everything
 * else, and tells the conversation what the page says of itself. A courtesy that nothing waits for: what is too much is
 * dropped and counted, and what a restart interrupts is not made up for.
 */
import type { ConversationMessage } from '#actors/conversation/conversation.messages.ts';
import type { Config } from '#src/config.ts';
import type { PageSummary } from '#src/outgoing/page-summary.ts';
import { readPage } from '#src/outgoing/page.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { firstLink, type LinkPreview } from '#src/protocol/conversations/links.ts';
import type { Message } from '#src/protocol/conversations/messages.ts';
import type { Sample } from '#src/telemetry/metrics.ts';
import { LabelledCounts } from '#src/telemetry/labelled-counts.ts';
import type { ScalarName } from '#src/telemetry/metric-table.ts';
import { readConversation } from '#storage/conversations/conversation-reader.ts';
import type { Lanes } from '#storage/engine/lanes.ts';
import type { ShardRuntime } from '../thread-services.ts';

/** Pages read at once by a thread: a page costs a core a few milliseconds and waits for the network. [they wait] */
export const PREVIEWS_AT_ONCE_MAX = 4;
/** Messages that wait for their page on a thread: two minutes' worth when every page takes its five seconds. [dropped] */
export const PREVIEWS_WAITING_MAX = 100;
/** Pages remembered, found or not: what a link that goes round needs. [the oldest is forgotten] */
export const PAGES_REMEMBERED_MAX = 500;
/** How long a page is remembered: ten minutes. [read again] */
export const PAGE_REMEMBERED_MILLIS = 10 * 60_000;

/** What came of a link, for the metric. */
type Outcome = 'shown' | 'nothing' | 'refused' | 'failed' | 'dropped';

export interface LinkPreviewsOptions {
  /** Reads a page, or finds none. */
  readonly read: (url: string) => Promise<PageSummary | undefined>;
  /** Whether a conversation may be told: never a secret one. */
  readonly isOpen: (conversation: string) => boolean;
  readonly tell: (conversation: string, seq: number, preview: LinkPreview) => void;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

interface Remembered {
  readonly until: number;
  readonly page: Promise<PageSummary | Outcome>;
}

export class LinkPreviews {
  readonly #options: LinkPreviewsOptions;
  readonly #waiting: string[] = [];
  readonly #remembered = new Map<string, Remembered>();
  readonly #outcomes = new LabelledCounts();
  #underWay = 0;

  constructor(options: LinkPreviewsOptions) {
    this.#options = options;
  }

  /** A message was posted or edited, and is on disk; `json` is it as it was answered. */
  note(json: string): void {
    // Most messages have no link and end here; the others are looked at when their answer has left.
    if (!json.includes('://')) return;
    if (this.#waiting.length >= PREVIEWS_WAITING_MAX) return this.#outcomes.add('dropped' satisfies Outcome);
    this.#waiting.push(json);
    setImmediate(() => this.#next());
  }

  get metrics(): Partial<Record<ScalarName, Sample[]>> {
    return { parley_messaging_link_previews_total: this.#outcomes.samples() };
  }

  #next(): void {
    while (this.#underWay < PREVIEWS_AT_ONCE_MAX) {
      const json = this.#waiting.shift();
      if (json === undefined) return;
      this.#underWay += 1;
      void this.#show(JSON.parse(json) as Message).finally(() => {
        this.#underWay -= 1;
        this.#next();
      });
    }
  }

  async #show({ body, conversation_id: conversation, kind, seq }: Message): Promise<void> {
    const url = kind === 'text' && typeof body === 'string' ? firstLink(body) : undefined;
    if (url === undefined || !this.#options.isOpen(conversation)) return;
    const page = await this.#page(url);
    this.#outcomes.add(typeof page === 'string' ? page : ('shown' satisfies Outcome));
    if (typeof page !== 'string') this.#options.tell(conversation, seq, { url, ...page });
  }

  /** The page as it was read of late, or is being read already for another message. */
  #page(url: string): Promise<PageSummary | Outcome> {
    const now = this.#options.now();
    const known = this.#remembered.get(url);
    if (known !== undefined && known.until > now) return known.page;
    const page = this.#read(url);
    // Deleted first, so that the order of the map is that of their times.
    this.#remembered.delete(url);
    this.#remembered.set(url, { until: now + PAGE_REMEMBERED_MILLIS, page });
    const [oldest] = this.#remembered.keys();
    if (this.#remembered.size > PAGES_REMEMBERED_MAX && oldest !== undefined) this.#remembered.delete(oldest);
    return page;
  }

  async #read(url: string): Promise<PageSummary | Outcome> {
    try {
      return (await this.#options.read(url)) ?? 'nothing';
    } catch (error) {
      return error instanceof Refusal ? 'refused' : 'failed';
    }
  }
}

/** The previews of a shard; undefined where the installation makes none. */
export function makeLinkPreviews(shard: {
  readonly config: Config;
  readonly version: string;
  readonly lanes: Lanes;
  readonly runtime: Pick<ShardRuntime, 'tell'>;
  readonly now: () => number;
}): LinkPreviews | undefined {
  const { config, lanes, runtime, now, version } = shard;
  if (config.linkPreviews === 'off') return undefined;
  const page = { allowPrivateTargets: config.allowPrivateTargets, userAgent: `Parley/${version}` };
  return new LinkPreviews({
    read: (url) => readPage(url, page),
    isOpen: (conversation) => {
      const environment = lanes.read(conversation);
      environment.refresh();
      const record = readConversation(environment.tables, conversation);
      return record !== undefined && record.kind !== 'secret';
    },
    tell: (conversation, seq, preview) => {
      const message = { kind: 'preview', seq, preview } satisfies ConversationMessage;
      runtime.tell(`conversation:${conversation}`, message);
    },
    now,
  });
}
