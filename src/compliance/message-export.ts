/**
 * The export of a conversation's messages, as lines of JSON, for an owner. What was asked for is in the audit trail
 * before the first line; the lines are read from the lane a page at a time, as fast as the reader takes them.
 *
 *     {"conversation":{…}}  {"participant":{…}} …  {"membership":{…}} {"message":{…}} {"kept":{…}} …  {"end":{…}}
 *
 * Participants are those of now. Each line of a membership stands in front of the first message behind it, so that who
 * was there when something was said follows from the lines before. Messages go up to the last one at the start; what
 * goes by its time meanwhile is left out. Without its last line an export is not whole.
 *
 * Under a legal hold everything is in it that is on the disk: behind a message, what it was before each edit and before its
 * deletion, and messages that a purge or a deletion of the conversation has hidden, marked `hidden`.
 */
import type { Clock } from '#src/base/clock.ts';
import { formatInstant, parseInstant } from '#src/base/time.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { MessageBody } from '#src/protocol/conversations/messages.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import { attachmentOf } from '#storage/conversations/attachment-references.ts';
import type { AttachmentReader } from '#storage/attachments/attachment-records.ts';
import {
  conversationView,
  readHistory,
  readParticipants,
  readRecord,
  readRoster,
  type Tables,
} from '#storage/conversations/conversation-reader.ts';
import type { Lanes } from '#storage/engine/lanes.ts';
import { purgeKey } from '#storage/conversations/conversation-writes.ts';
import { readHoldRevisions } from '#storage/conversations/hold-revisions.ts';
import type { ConversationRecord } from '#storage/engine/records.ts';
import { isOnHold } from '#storage/conversations/retention.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';

/** Messages read in one step: 20 of the largest are 2 MB and some milliseconds, of usual ones a fraction of one. */
export const EXPORT_PAGE = 20;
/** Participants read in one step. */
const PARTICIPANTS_PAGE = 500;
/** Exports under way at once; more are answered `busy`. Each holds a page in memory and a connection. */
export const EXPORTS_MAX = 2;

export interface ExportQuery {
  readonly conversation: string;
  /** RFC 3339: the first instant that counts, and the first that does not count any more. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

export interface MessageExportOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly lanes: Pick<Lanes, 'read' | 'requireReadable'>;
  /** The installation's epoch, by which a reader tells one history from another. */
  readonly epoch: string;
  /** What is known of an attachment. */
  readonly attachments: Pick<AttachmentReader, 'find'>;
}

export class MessageExport {
  readonly #options: MessageExportOptions;
  #open = 0;

  constructor(options: MessageExportOptions) {
    this.#options = options;
  }

  /**
   * Starts an export; resolves when it is audited, with its lines. Whoever does not read them to the end calls
   * `return` on them, as a stream does that is destroyed.
   * @throws Refusal `query_invalid` for an instant that is none, `conversation_forbidden` where there is no such
   * conversation, `storage_damaged` where nobody can tell, `busy` beyond EXPORTS_MAX.
   */
  async start(query: ExportQuery, by: AuditActor): Promise<AsyncIterableIterator<string>> {
    const { accounts, attachments, clock, lanes } = this.#options;
    const isWanted = rangeOf(query);
    lanes.requireReadable(query.conversation);
    const environment = lanes.read(query.conversation);
    environment.refresh();
    const { tables } = environment;
    const record = readExported(tables, query.conversation);
    if (record === undefined) throw new Refusal('conversation_forbidden');
    if (this.#open >= EXPORTS_MAX) throw new Refusal('busy');
    this.#open += 1;
    let isOpen = true;
    const release = () => {
      if (isOpen) this.#open -= 1;
      isOpen = false;
    };
    const details = { from: query.from ?? null, to: query.to ?? null, last_seq: record.headSeq };
    const entry = { event: 'message_export.started', ...by, subject: `conversation:${record.id}`, details };
    try {
      await accounts.change((draft) => draft.audit(clock.now(), entry));
    } catch (error) {
      release();
      throw error;
    }
    const contentOf = (id: string) => attachments.find(id)?.hash ?? null;
    return releasing(linesOf(tables, record, { ...this.#options, contentOf, isWanted }), release);
  }
}

/** The lines, which give their place back when they end, fail or are left; also before the first was read. */
function releasing(lines: AsyncGenerator<string>, release: () => void): AsyncIterableIterator<string> {
  const ended = (result: IteratorResult<string>) => {
    if (result.done === true) release();
    return result;
  };
  const failed = (error: unknown): never => {
    release();
    throw error;
  };
  return {
    next: async () => await lines.next().then(ended, failed),
    return: async () => {
      release();
      return await lines.return(undefined);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

async function* linesOf(
  tables: Tables,
  record: ConversationRecord,
  { contentOf, epoch, isWanted }: LinesOptions,
): AsyncGenerator<string> {
  yield line({ conversation: { ...conversationView(tables, record, epoch), participants: undefined } });
  for (let after: string | undefined; ;) {
    const people = readParticipants(tables, record.id, PARTICIPANTS_PAGE, after);
    yield people.map((participant) => line({ participant })).join('');
    if (people.length < PARTICIPANTS_PAGE) break;
    after = people.at(-1)?.user;
    await new Promise(setImmediate);
  }
  let count = 0;
  let versions = 0;
  const hiddenUpTo = readRecord(tables, record.id)?.floorSeq ?? 0;
  const roster = new RosterLines(tables, record);
  for (let afterSeq: number | undefined = record.floorSeq; afterSeq !== undefined;) {
    const present = readExported(tables, record.id);
    // Deleted meanwhile: what was written so far is not whole.
    if (present === undefined) return;
    const step = readHistory(tables, present, { afterSeq, limit: EXPORT_PAGE });
    const messages = step.items.map((json) => ({ json, message: JSON.parse(json) as StoredMessage }));
    // What was posted meanwhile is behind the head of the start.
    const wanted = messages.filter(({ message }) => message.seq <= record.headSeq && isWanted(message));
    count += wanted.length;
    let lines = '';
    for (const { json, message } of wanted) {
      const isHidden = message.seq <= hiddenUpTo;
      lines += `${roster.before(message.seq)}${messageLine(json, message, contentOf, isHidden)}`;
      if (message.edited_at === undefined && message.deleted_at === undefined) continue;
      for await (const kept of keptLines(tables, record, message.seq, contentOf)) {
        versions += kept.count;
        yield `${lines}${kept.lines}`;
        lines = '';
      }
    }
    if (lines.length > 0) yield lines;
    const isOver = step.next === undefined || step.next >= record.headSeq;
    afterSeq = isOver ? undefined : step.next;
    // Pages without a wanted message would otherwise follow one another without a turn for anybody else.
    await new Promise(setImmediate);
  }
  yield roster.before(Infinity);
  yield line({ end: versions === 0 ? { messages: count } : { messages: count, kept: versions } });
}

interface LinesOptions {
  readonly epoch: string;
  /** The name of an attachment's content: its hash, keyed while encryption at rest is on; null for none. */
  readonly contentOf: (attachment: string) => string | null;
  readonly isWanted: (message: { created_at: string }) => boolean;
}

function messageLine(
  json: string,
  message: StoredMessage,
  contentOf: LinesOptions['contentOf'],
  isHidden: boolean,
): string {
  return `{"message":${json}${contentPart(message, contentOf)}${isHidden ? ',"hidden":true' : ''}}\n`;
}

function contentPart({ body }: StoredMessage, contentOf: LinesOptions['contentOf']): string {
  const attachment = attachmentOf(body);
  return attachment === undefined ? '' : `,"content":${JSON.stringify(contentOf(attachment))}`;
}

/** What a legal hold kept of a message, a page at a time: nobody bounds how often somebody edits. */
async function* keptLines(
  tables: Tables,
  record: ConversationRecord,
  seq: number,
  contentOf: LinesOptions['contentOf'],
): AsyncGenerator<{ readonly lines: string; readonly count: number }> {
  if (!isOnHold(record)) return;
  for (let after: { seq: number; rev: number } | undefined; ;) {
    const found = readHoldRevisions(tables, record.id, { from: seq, to: seq, after }, EXPORT_PAGE);
    const lines = found.map(({ kept: { change, by, at, json } }) => {
      const head = JSON.stringify({ seq, change, by, at }).slice(0, -1);
      return `{"kept":${head},"message":${json}${contentPart(JSON.parse(json) as StoredMessage, contentOf)}}}\n`;
    });
    if (lines.length > 0) yield { lines: lines.join(''), count: lines.length };
    if (found.length < EXPORT_PAGE) return;
    after = found.at(-1);
    await new Promise(setImmediate);
  }
}

/** The conversation as an export reads it: under a legal hold all that is on the disk, deleted or not. */
function readExported(tables: Tables, id: string): ConversationRecord | undefined {
  const record = readRecord(tables, id);
  if (record === undefined) return undefined;
  const isPurging = tables.meta.get(purgeKey(id)) !== undefined;
  if (record.deleted && !(isPurging && isOnHold(record))) return undefined;
  return isOnHold(record) ? { ...record, floorSeq: 0, emptiedSeq: 0 } : record;
}

/** Changes of who takes part, as lines, each in front of the messages behind it. */
class RosterLines {
  readonly #tables: Tables;
  readonly #record: ConversationRecord;
  #read: ReturnType<typeof readRoster> = [];
  #rev = 0;
  #isOver = false;

  constructor(tables: Tables, record: ConversationRecord) {
    this.#tables = tables;
    this.#record = record;
  }

  /** Those that are not written yet and happened before that message was posted. */
  before(seq: number): string {
    let lines = '';
    for (let entry = this.#next(); entry !== undefined && entry.head < seq; entry = this.#next()) {
      const membership = {
        at: formatInstant(entry.ts * 1000),
        after_seq: entry.head,
        ...(JSON.parse(entry.data) as object),
      };
      lines += line({ membership });
      this.#read.shift();
    }
    return lines;
  }

  #next() {
    if (this.#read.length === 0 && !this.#isOver) {
      this.#read = readRoster(this.#tables, this.#record, this.#rev, PARTICIPANTS_PAGE);
      this.#isOver = this.#read.length < PARTICIPANTS_PAGE;
      this.#rev = this.#read.at(-1)?.rev ?? this.#rev;
    }
    return this.#read[0];
  }
}

interface StoredMessage {
  readonly body?: MessageBody;
  readonly seq: number;
  readonly created_at: string;
  readonly edited_at?: string;
  readonly deleted_at?: string;
}

function line(value: object): string {
  return `${JSON.stringify(value)}\n`;
}

/** Instants are compared one by one: a machine's clock may have gone back, so that order by seq is not order by time. */
function rangeOf({ from, to }: ExportQuery): (message: { created_at: string }) => boolean {
  const start = instantOf('from', from) ?? -Infinity;
  const end = instantOf('to', to) ?? Infinity;
  return ({ created_at: at }) => Date.parse(at) >= start && Date.parse(at) < end;
}

function instantOf(field: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const instant = parseInstant(text);
  if (instant === undefined) throw new Refusal('query_invalid', { field });
  return instant;
}
