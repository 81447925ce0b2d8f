/**
 * What shards ask the main thread about attachments: to begin, finish and discard uploads, to have one upload for
 * themselves while they write it, and to remove what no message has any more.
 */
import { refused, type Answer } from '#actors/runtime/actor.ts';
import type { Supervisor } from '#actors/runtime/supervisor.ts';
import type { Clock } from '#src/base/clock.ts';
import type { Config } from '#src/config.ts';
import type { AttachmentAsk } from '#src/protocol/attachments.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Log } from '#src/telemetry/log.ts';
import type { Accounts } from '#storage/accounts.ts';
import { Attachments } from '#storage/attachments.ts';
import type { Lanes } from '#storage/lanes.ts';

/** How long a request waits for the one before it to let go of the upload, once that was told to. */
const LEASE_WAIT_MILLIS = 5_000;
/** How often abandoned uploads are looked for. */
const SWEEP_MILLIS = 60_000;

interface Lease {
  readonly shard: number;
  readonly token: string;
  readonly ended: Promise<void>;
  readonly end: () => void;
}

export interface AttachmentDeskOptions {
  readonly attachments: Attachments;
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly log: Log;
  /** Tells a shard to let go of an upload: a newer request of the same client wants it. */
  readonly drop: (shard: number, id: string, token: string) => void;
}

/** What the server has that the desk is made from. */
export interface DeskSurroundings {
  readonly folder: string;
  readonly config: Config;
  readonly accounts: Accounts;
  readonly lanes: Lanes;
  readonly clock: Clock;
  readonly log: Log;
  readonly supervisor: Supervisor;
}

/** Opens the attachments of the data folder, whose lock the caller has, and starts what keeps them in order. */
export async function openAttachmentDesk(surroundings: DeskSurroundings): Promise<AttachmentDesk> {
  const { accounts, clock, config, folder, lanes, log, supervisor } = surroundings;
  const attachments = await Attachments.open(folder, {
    lanes: lanes.environments,
    now: () => clock.now(),
    quotaBytes: config.attachmentQuotaBytes,
  });
  const drop = (shard: number, id: string, token: string) => supervisor.tellShard(shard, '@dropUpload', [id, token]);
  const desk = new AttachmentDesk({ attachments, accounts, clock, log, drop });
  desk.start();
  return desk;
}

export class AttachmentDesk {
  readonly #options: AttachmentDeskOptions;
  /** Upload → who writes it now. */
  readonly #leases = new Map<string, Lease>();
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<void> = Promise.resolve();

  constructor(options: AttachmentDeskOptions) {
    this.#options = options;
  }

  /** Removes what a crash left, then, every minute, what nobody goes on with. */
  start(): void {
    this.#keep(async () => {
      const files = await this.#options.attachments.removeOrphans();
      if (files > 0) this.#options.log.info('files of attachments that nothing knew were removed', { files });
    });
    this.#timer = setInterval(() => this.#keep(() => this.sweep()), SWEEP_MILLIS);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#work;
    await this.#options.attachments.close();
  }

  /** Removes everything that is due now. */
  async sweep(): Promise<void> {
    while (await this.#options.attachments.sweep((id) => this.#leases.has(id)));
  }

  /** A shard died: what it wrote is whatever reached the file. */
  shardLost(shard: number): void {
    for (const [id, lease] of this.#leases) if (lease.shard === shard) this.#end(id, lease);
  }

  /** The answer to a question of a shard, which is an AttachmentAsk. */
  async serve(body: unknown): Promise<Answer> {
    const ask = body as AttachmentAsk;
    try {
      return { ok: true, value: (await this.#decide(ask)) ?? null };
    } catch (error) {
      if (error instanceof Refusal) return refused(error.code, error.field, error.retryAfter);
      this.#options.log.error('a question about attachments failed', { do: ask.do, error });
      return refused('internal');
    }
  }

  async #decide(ask: AttachmentAsk): Promise<unknown> {
    const { attachments } = this.#options;
    switch (ask.do) {
      case 'create':
        return await attachments.create(ask.user, ask.bytes, ask.name);
      case 'open':
        return await this.#open(ask);
      case 'close':
        return this.#close(ask.id, ask.lease);
      case 'finish':
        this.#require(ask.id, ask.lease);
        return await attachments.finish(ask.id, ask.hash, ask.type);
      case 'infected':
        return await this.#refuseInfected(ask);
      case 'discard':
        this.#requireOwner(ask.id, ask.user);
        await this.#free(ask.id);
        return await attachments.discard(ask.id);
      case 'hold':
        return await attachments.hold(ask.id);
      case 'posted':
        return await attachments.posted(ask.id);
      default:
        return await attachments.release(ask.ids);
    }
  }

  /** @throws Refusal `attachment_not_found`, `upload_busy` when the request before does not let go. */
  async #open({ id, user, shard, lease }: Extract<AttachmentAsk, { do: 'open' }>): Promise<void> {
    this.#requireOwner(id, user);
    await this.#free(id);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#leases.set(id, { shard, token: lease, ended: promise, end: resolve });
  }

  /** Has whoever writes an upload let go: a client that lost its connection comes back before the server knows it. */
  async #free(id: string): Promise<void> {
    const held = this.#leases.get(id);
    if (held === undefined) return;
    this.#options.drop(held.shard, id, held.token);
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, LEASE_WAIT_MILLIS);
    await Promise.race([held.ended, late]);
    clearTimeout(timer);
    // Of several that waited, the first one has it.
    if (this.#leases.has(id)) throw new Refusal('upload_busy');
  }

  #close(id: string, token: string): void {
    const lease = this.#leases.get(id);
    if (lease?.token === token) this.#end(id, lease);
  }

  #end(id: string, lease: Lease): void {
    this.#leases.delete(id);
    lease.end();
  }

  /** One who lost the upload to another may not finish it. @throws Refusal `upload_busy`. */
  #require(id: string, token: string): void {
    if (this.#leases.get(id)?.token !== token) throw new Refusal('upload_busy');
  }

  /** @throws Refusal `attachment_not_found` for what is not there and what is another's. */
  #requireOwner(id: string, user: string): void {
    if (this.#options.attachments.find(id)?.owner !== user) throw new Refusal('attachment_not_found');
  }

  /** Removes what the virus scanner named, and writes down whose it was. */
  async #refuseInfected(ask: Extract<AttachmentAsk, { do: 'infected' }>): Promise<void> {
    this.#require(ask.id, ask.lease);
    const { accounts, attachments, clock } = this.#options;
    const { owner = '', bytes = 0 } = attachments.find(ask.id) ?? {};
    await accounts.change((draft) =>
      draft.audit(clock.now(), {
        event: 'attachment.infected',
        actor: owner,
        address: ask.address,
        subject: `attachment:${ask.id}`,
        details: { signature: ask.signature, bytes },
      }),
    );
    await attachments.discard(ask.id);
  }

  #keep(work: () => Promise<void>): void {
    this.#work = this.#work.then(work).catch((error: unknown) => {
      this.#options.log.error('the sweep of attachments failed', { error });
    });
  }
}
