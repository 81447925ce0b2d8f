/**
 * What a host does beside serving while it leads: it says each second that it does, cuts the stream when that is long, knows the other
 * hosts, and begins again as one that follows when it leads no more.
 *
 * Whether it may write is the stream's to decide, with each batch; what is said here is for the others to know where to hand on to, and
 * when to try themselves. While NATS is away this host goes on with what needs no writing.
 */
import { BroadcastChannel } from 'node:worker_threads';
import type { ClusterControl, ListedHost } from '#src/server/control/control-commands.ts';
import type { Log } from '#src/telemetry/log.ts';
import type { ScalarName } from '#src/telemetry/metric-table.ts';
import { oneSample, type Sample } from '#src/telemetry/metrics.ts';
import { PRESENCE_MILLIS, type HostPresence, type Leader, type Presence } from '#storage/cluster/presence.ts';
import { cutStream, type SnapshotPlace } from '#storage/cluster/snapshot-making.ts';
import type { DurableWords } from '#storage/engine/folder-logs.ts';
import { FolderError } from '#storage/engine/folder.ts';
import { ENDINGS, RESIGNATIONS } from '#storage/stream/stream-appender.ts';
import { isDrained, setDrained } from './drained.ts';

/** How often the length of the stream is looked at. */
const STREAM_LOOK_MILLIS = 10_000;
/** How long the others may take to hear that this host leads no more; then they find out by themselves. */
const FAREWELL_MILLIS = 500;
/** How far a host may be behind that takes the lead over from one that is drained: it has to come level first. */
const NEXT_LAG_MILLIS = 1_000;

const STOPS = new Error('The host stops.');

export interface LeadershipOptions extends SnapshotPlace {
  readonly cluster: string;
  readonly presence: Presence;
  readonly me: Omit<HostPresence, 'drained' | 'lag' | 'role'>;
  readonly folder: string;
  readonly leader: Leader;
  /** The hosts that were there when this one came to lead. */
  readonly hosts: readonly HostPresence[];
  /** The term, and what the next word that this host leads has to come behind. */
  readonly term: number;
  readonly log: Log;
  /** Bytes of the stream up to which it is not cut, whatever the files have. */
  readonly streamBytes: number;
  /** Begins this process anew; never resolves. */
  readonly beginAgain: () => Promise<never>;
}

export class Leadership {
  readonly #options: LeadershipOptions;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #resignations = new BroadcastChannel(RESIGNATIONS);
  #behind: number;
  #hosts: readonly HostPresence[] = [];
  #isReached = true;
  #isOver = false;
  #saying: Promise<void> = Promise.resolve();
  #cutting: Promise<void> | undefined;
  readonly #stopping = new AbortController();
  #heard: (addresses: readonly string[]) => void = () => undefined;

  constructor(options: LeadershipOptions) {
    this.#options = options;
    this.#behind = options.term;
    this.#hosts = options.hosts;
    this.#resignations.addEventListener('message', (message) =>
      this.#end(String((message as unknown as { data: unknown }).data)),
    );
    this.#resignations.unref();
    this.#timers.push(
      setInterval(() => {
        this.#saying = this.#saying.then(async () => await this.#say());
      }, PRESENCE_MILLIS).unref(),
    );
  }

  /** The cluster in figures, as this host sees it. */
  get metrics(): Partial<Record<ScalarName, Sample[]>> {
    const { me, term } = this.#options;
    return {
      parley_cluster_term: oneSample(term, [me.host]),
      parley_cluster_reached: oneSample(Number(this.#isReached)),
      parley_cluster_host_lag_seconds: this.#hosts.map(({ host, lag, role }) => ({
        labels: [host, role],
        value: lag / 1_000,
      })),
    };
  }

  /** What `parley status` says of the cluster, a line each. */
  get status(): Record<string, string | number> {
    const { me, term } = this.#options;
    const hosts = this.#hosts.map(({ host, lag, role }) => [`host ${host}`, `${role}, ${lag} ms behind`]);
    return {
      host: me.host,
      role: 'leads',
      term,
      nats: this.#isReached ? 'reached' : 'away',
      ...Object.fromEntries(hosts),
    };
  }

  /** What this host does in its cluster by command. `handOver` stops it in order, and has it begin again as one that follows. */
  control(handOver: () => void): ClusterControl {
    const { folder, log, me } = this.#options;
    return {
      host: me.host,
      hosts: () => this.#hosts.map(listedHost),
      drain: () => {
        const next = this.#hosts.find(
          (one) => one.host !== me.host && one.role === 'follows' && !one.drained && one.lag <= NEXT_LAG_MILLIS,
        );
        if (next === undefined) {
          throw new FolderError(`Nobody else could lead: no other host that is not drained has what ${me.host} has.`);
        }
        setDrained(folder, true);
        log.info('this host is drained, and leaves the lead to others');
        // The command is answered before its door is closed.
        setImmediate(handOver);
      },
      resume: () => setDrained(folder, false),
    };
  }

  /** Addresses of the other hosts: what they hand on comes with the address it came from. */
  get others(): readonly string[] {
    return this.#hosts.flatMap(({ address, host }) => (host === this.#options.me.host ? [] : [address]));
  }

  /** Has the addresses of the other hosts handed over, now and whenever they change. */
  follow(heard: (addresses: readonly string[]) => void): void {
    this.#heard = heard;
    heard(this.others);
  }

  /** Cuts the stream whenever it is too long, by copies of this host's files. */
  keepShort(files: { readonly folder: string; readonly lanes: number; readonly words: DurableWords }): void {
    const look = () => {
      this.#cutting ??= this.#cut(files).finally(() => {
        this.#cutting = undefined;
      });
    };
    this.#timers.push(setInterval(look, STREAM_LOOK_MILLIS).unref());
  }

  /** Puts a process that follows in the place of this one, which has stopped. */
  async beginAgain(): Promise<never> {
    return await this.#options.beginAgain();
  }

  /** The process stops: no thread waits for a NATS that does not answer, and no copy is finished. */
  giveUp(): void {
    this.#stopping.abort(STOPS);
    const endings = new BroadcastChannel(ENDINGS);
    endings.postMessage(null);
    endings.close();
  }

  /** Says that this host leads no more, once all that it wrote is out. */
  async stop(): Promise<void> {
    this.#isOver = true;
    for (const timer of this.#timers) clearInterval(timer);
    this.#resignations.close();
    this.#stopping.abort(STOPS);
    await this.#cutting;
    const { me, presence } = this.#options;
    await within(FAREWELL_MILLIS, this.#saying);
    await within(FAREWELL_MILLIS, presence.stepDown(this.#behind));
    await within(FAREWELL_MILLIS, presence.leave(me.host));
    await within(FAREWELL_MILLIS, this.#options.connection.nats.close());
  }

  async #say(): Promise<void> {
    if (this.#isOver) return;
    const { folder, leader, log, me, presence } = this.#options;
    try {
      const behind = (await presence.leadOn(leader, this.#behind)) ?? (await this.#leadAnew());
      if (behind === undefined) return this.#end('another host leads');
      this.#behind = behind;
      await presence.say({ ...me, role: 'leads', drained: isDrained(folder), lag: 0 });
      const before = this.others.join();
      this.#hosts = await presence.hosts();
      if (this.others.join() !== before) this.#heard(this.others);
      if (!this.#isReached) log.warn('NATS answers again');
      this.#isReached = true;
    } catch (error) {
      if (this.#isReached) log.error('NATS does not answer: nothing can be changed', { error: error as Error });
      this.#isReached = false;
    }
  }

  /** Says it where its last word was forgotten, or was stored and the answer lost; undefined where another host leads. */
  async #leadAnew(): Promise<number | undefined> {
    const { leader, me, presence } = this.#options;
    const known = await presence.leader();
    if (known === undefined) return await presence.lead(leader);
    return known.leader.host === me.host ? await presence.leadOn(leader, known.revision) : undefined;
  }

  /** Whatever another thread or host says about it, this host begins again: what it is to have is in the stream. */
  #end(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.log.error('this host leads no more, and begins again', { reason });
    void within(FAREWELL_MILLIS, this.#options.presence.stepDown(this.#behind)).then(this.#options.beginAgain);
  }

  async #cut(files: { readonly folder: string; readonly lanes: number; readonly words: DurableWords }): Promise<void> {
    const { cluster, log, streamBytes, term } = this.#options;
    try {
      const logs = await cutStream(this.#options, { cluster, term, ...files }, streamBytes, this.#stopping.signal);
      if (logs.length > 0)
        log.info('the snapshot has new copies, and the stream was cut behind them', { logs: logs.join(' ') });
    } catch (error) {
      if (!this.#stopping.signal.aborted)
        log.warn('the snapshot of the cluster could not be renewed', { error: error as Error });
    }
  }
}

/** A host as commands list it. */
export function listedHost({ address, drained, host, lag, role, version }: HostPresence): ListedHost {
  return { host, role, drained, lag_ms: lag, version, address };
}

/** Waits for something, for so long and whatever becomes of it. */
async function within(millis: number, action: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, millis);
  await Promise.race([action.then(() => undefined).catch(() => undefined), promise]);
  clearTimeout(timer);
}
