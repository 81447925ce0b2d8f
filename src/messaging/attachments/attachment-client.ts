/** Attachments as one shard has them: read here, changed by asking the shard that writes them. */
import {
  valueOf,
  type AnswerOf,
  type AskBody,
  type AskedName,
  type ServiceHandlers,
} from '#actors/runtime/thread-services.ts';
import { isId } from '#src/base/ids.ts';
import type { AttachmentServices, ObjectStoreSettings } from '#src/protocol/attachments/attachments.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { MessageBody, PostMessage } from '#src/protocol/conversations/messages.ts';
import type { Config } from '#src/config.ts';
import type { QuotaGate } from '#src/limits/quotas.ts';
import type { Log } from '#src/telemetry/log.ts';
import { AttachmentReader, openAttachments, type AttachmentRecord } from '#storage/attachments/attachment-records.ts';
import {
  attachmentOf,
  hasReference,
  isStill,
  mayRead,
  readReleases,
  removeRelease,
} from '#storage/conversations/attachment-references.ts';
import { Content, ContentVault } from '#storage/attachments/blob-contents.ts';
import type { AttachmentSealing } from '#storage/attachments/blob-sealing.ts';
import type { DurableWords } from '#storage/engine/folder-logs.ts';
import type { Lanes } from '#storage/engine/lanes.ts';
import type { ShardRuntime, ShardServices } from '../thread-services.ts';
import { AttachmentWriter, openAttachmentWriter } from './attachment-writer.ts';
import { AttachmentMetrics } from './attachment-metrics.ts';
import { conversationId } from '#src/protocol/names.ts';
import type { Caller } from '../access/access-checks.ts';
import { readableBy } from '../access/readable-conversation.ts';
import type { Exchange } from '../http/exchange.ts';
import { safeFileName } from './file-names.ts';
import { StoreClient } from './store-client.ts';

/** It answers within a few commits; finishing an upload may wait behind a removal. */
const ASK_MILLIS = 30_000;
/** Attachments per lane that are looked at in one pass of the removal. */
const RELEASED_AT_ONCE = 50;

export interface AttachmentClientOptions {
  readonly folder: string;
  readonly shard: number;
  readonly reader: AttachmentReader;
  readonly lanes: Lanes;
  /** What seals contents, as this thread has it. */
  readonly vault: ContentVault;
  /** The object store, as this thread has it. */
  readonly storeClient: StoreClient;
  readonly runtime: ShardRuntime;
  /** The desk, on the shard that has it. */
  readonly writer: AttachmentWriter | undefined;
}

/** What the shard's thread has that its door is made from. */
export interface AttachmentClientContext {
  readonly folder: string;
  readonly shard: number;
  readonly lanes: Lanes;
  readonly attachmentSealing: AttachmentSealing;
  readonly objectStore: ObjectStoreSettings | null;
  readonly config: Pick<Config, 'allowPrivateTargets'>;
  readonly backups: SharedArrayBuffer;
  readonly words: DurableWords;
  readonly isRestart: boolean;
  readonly quotas: QuotaGate;
  /** Whether this is the shard that writes attachments. */
  readonly hasWriter: boolean;
  readonly now: () => number;
  readonly log: Log;
  readonly runtime: ShardRuntime;
}

/** Opens the attachments for a shard's thread, and the desk where this is the one that has it. */
export async function openAttachmentClient(context: AttachmentClientContext): Promise<AttachmentClient> {
  const { attachmentSealing, backups, config, folder, hasWriter, lanes, now, objectStore, quotas, words } = context;
  const vault = new ContentVault(attachmentSealing);
  const storeClient = new StoreClient(objectStore, { allowPrivateTargets: config.allowPrivateTargets, now });
  const writer = hasWriter
    ? await openAttachmentWriter({
        ...context,
        vault,
        storeClient,
        lanes: lanes.environments,
        requireQuota: quotas.require,
        pauses: new Int32Array(backups),
      })
    : undefined;
  const reader = writer?.attachments ?? new AttachmentReader(openAttachments(folder, 'read', words));
  return new AttachmentClient({ ...context, vault, storeClient, reader, writer });
}

export class AttachmentClient {
  readonly folder: string;
  readonly shard: number;
  readonly vault: ContentVault;
  readonly counts = new AttachmentMetrics();
  readonly #options: AttachmentClientOptions;
  /** Requests that write an upload here or are about to, by the token of their lease. */
  readonly #written = new Map<string, Exchange>();
  /** Those among them that were given the upload. */
  readonly #given = new Set<string>();
  #isReleasing = false;
  /** Told when nothing is written here any more. */
  #idle: (() => void)[] = [];

  constructor(options: AttachmentClientOptions) {
    this.#options = options;
    this.folder = options.folder;
    this.shard = options.shard;
    this.vault = options.vault;
  }

  /** Starts what keeps attachments in order, once there are links to the other shards. */
  start(): void {
    this.#options.writer?.start();
  }

  /** What other shards, and this one, ask of attachments here. */
  get services(): ServiceHandlers<AttachmentServices & Pick<ShardServices, 'upload.drop' | 'uploads.dropAll'>> {
    return {
      ...AttachmentWriter.services(this.#options.writer),
      'upload.drop': ({ id, lease }) => this.#drop(id, lease),
      'uploads.dropAll': async () => await this.#dropAll(),
    };
  }

  shardLost(shard: number): void {
    this.#options.writer?.shardLost(shard);
  }

  get metrics(): ReturnType<AttachmentMetrics['read']> {
    return this.counts.read(this.#options.writer?.metrics);
  }

  /** Keeps contents like this from now on. */
  keep(sealing: AttachmentSealing): void {
    this.vault.take(sealing);
    this.#options.writer?.sealRest();
  }

  /** Goes by this object store from now on. */
  useStore(settings: ObjectStoreSettings | null): void {
    this.#options.storeClient.use(settings);
    this.#options.writer?.storeChanged();
  }

  /** Opens the content of that name where it lies. @throws Refusal and Error as `Content.open`. */
  async open(name: string): Promise<Content> {
    const { storeClient, folder, reader, vault } = this.#options;
    return await Content.open(folder, name, vault, (content) => storeClient.at(reader.objectOf(content)));
  }

  find(id: string): AttachmentRecord | undefined {
    return this.#options.reader.find(id);
  }

  /** Asks the one that writes attachments. @throws Refusal with its code, or `unavailable`. */
  async ask<N extends AskedName<AttachmentServices>>(
    name: N,
    body: AskBody<AttachmentServices, N>,
  ): Promise<AnswerOf<AttachmentServices, N>> {
    const { runtime } = this.#options;
    return valueOf(await runtime.askShard(runtime.placement.attachmentShard, name, body, ASK_MILLIS));
  }

  /** While it writes, a request can be told to let go of its upload. */
  watch(token: string, exchange: Exchange): void {
    this.#written.set(token, exchange);
  }

  /** It was given the upload. */
  given(token: string): void {
    this.#given.add(token);
  }

  /** It writes no more. */
  unwatch(token: string): void {
    this.#written.delete(token);
    this.#given.delete(token);
    if (this.#given.size === 0) for (const tell of this.#idle.splice(0)) tell();
  }

  /** Has all let go that were given an upload; resolves when nothing is written here any more. */
  async #dropAll(): Promise<void> {
    if (this.#given.size === 0) return;
    for (const token of this.#given) this.#written.get(token)?.drop();
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Has whoever writes an upload here let go of it. One who is gone already never said so, so that is said again. */
  #drop(id: string, token: string): void {
    const exchange = this.#written.get(token);
    if (exchange !== undefined) return exchange.drop();
    this.ask('uploads.close', { id, lease: token }).catch(() => undefined);
  }

  /**
   * The attachment of a conversation of the path's query that the caller takes part in (ATT-01).
   * @throws Refusal `conversation_forbidden`, `attachment_not_found`.
   */
  readableIn(user: string, id: string, conversation: string): ReadableAttachment {
    if (!conversationId.safeParse(conversation).success) throw new Refusal('conversation_forbidden');
    const { tables } = readableBy(this.#options.lanes, conversation, user);
    // Of the path, so anything: no table is asked for what no attachment is called.
    const record = isId('att', id) ? this.find(id) : undefined;
    if (record === undefined || !hasReference(tables, conversation, id)) throw new Refusal('attachment_not_found');
    const { hash, type } = record;
    if (hash === undefined || type === undefined) throw new Refusal('attachment_not_found');
    return { ...record, hash, type };
  }

  /**
   * A message's form with what the server knows of its attachment in the place of what the client said: type and size
   * are the content's own. The attachment stays while the message is posted. Other forms stay as they are.
   * @throws Refusal `attachment_not_found` for one that is not the caller's and in no conversation of theirs,
   * `attachment_unfinished`.
   */
  async prepare(call: AttachmentCaller, form: PostMessage): Promise<PostMessage> {
    if (form.kind !== 'media') return form;
    const record = this.find(form.body.attachment);
    if (record === undefined) throw new Refusal('attachment_not_found');
    const { id, owner, bytes, hash, type } = record;
    if (owner !== call.user && !this.#mayForward(call, id)) throw new Refusal('attachment_not_found');
    if (hash === undefined || type === undefined) throw new Refusal('attachment_unfinished');
    await this.ask('attachments.hold', { id });
    return { ...form, body: { ...form.body, name: safeFileName(form.body.name), type: plainType(type), size: bytes } };
  }

  /**
   * A new body of a message with what the server knows of the attachment that it names. That it is the attachment which
   * the message has is for the conversation to say. @throws Refusal `attachment_not_found`.
   */
  describe(body: MessageBody): MessageBody {
    const id = attachmentOf(body);
    if (typeof body !== 'object' || !('attachment' in body) || id === undefined) return body;
    const { bytes, type } = this.find(id) ?? {};
    if (bytes === undefined || type === undefined) throw new Refusal('attachment_not_found');
    return { ...body, name: safeFileName(body.name), type: plainType(type), size: bytes };
  }

  /** Says that a message has the attachment now, which nobody waits for: a sweep would find out, too. */
  notePosted(form: PostMessage): void {
    const id = attachmentOf(form.body);
    if (id !== undefined) this.ask('attachments.posted', { id }).catch(() => undefined);
  }

  /** Has attachments removed that lost their last message: one bounded pass over this shard's lanes. */
  async releaseDue(): Promise<void> {
    if (this.#isReleasing) return;
    this.#isReleasing = true;
    try {
      for (const lane of this.#options.lanes.owned) {
        const due = readReleases(lane.environment.tables, RELEASED_AT_ONCE);
        if (due.length === 0) continue;
        const settled = new Set(await this.ask('attachments.release', { ids: due.map((one) => one.attachment) }));
        // A mark that another deletion left meanwhile stays, to be looked at again.
        const done = due.filter((one) => settled.has(one.attachment) && isStill(one, lane));
        if (done.length > 0) lane.append(done.map((one) => removeRelease(one)));
      }
    } finally {
      this.#isReleasing = false;
    }
  }

  async close(): Promise<void> {
    await this.#options.writer?.stop();
    this.#options.storeClient.close();
    await this.#options.reader.close();
  }

  #mayForward(call: AttachmentCaller, id: string): boolean {
    const { environments } = this.#options.lanes;
    for (const environment of environments) environment.refresh();
    return mayRead(environments, id, call.user, call.reach);
  }
}

/** Who posts an attachment, and the conversations that a bot is limited to. */
export interface AttachmentCaller extends Caller {
  readonly reach?: ReadonlySet<string> | undefined;
}

/** A media type without its parameters, as messages carry it. */
function plainType(type: string): string {
  return type.split(';', 1)[0] ?? type;
}

export interface ReadableAttachment extends AttachmentRecord {
  hash: string;
  type: string;
}
