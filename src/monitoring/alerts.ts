/**
 * Alerts that the server raises about itself and its nodes. An alert is open while its condition holds and closes by
 * itself when it ends; there is nothing to acknowledge and nothing to forget.
 *
 *     condition seen ──► open ──seen again──► open, last_seen later ──not seen──► closed ──30 days──► gone
 */
import type { Clock } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import { formatInstant } from '#src/base/time.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import { defineCollection, type Entry } from '#storage/accounts/collections.ts';

/** Kinds of alerts. Those with `lasting` tell of a moment, and stay open for so long after it, in milliseconds. */
export const ALERT_KINDS = {
  node_silent: { say: 'A node has not reported its health for 90 seconds.' },
  disk_low: { say: 'A disk has less than a twentieth, or less than 1 GiB, free.' },
  commit_slow: { say: 'Commits take longer than they should: the 99th percentile is above a quarter of a second.' },
  accounts_filling: {
    say: 'The accounts file has less than a fifth of its 16 GiB left: keep the audit trail for a shorter time.',
  },
  quota_near: { say: 'Four fifths of a quota of all people together are used.' },
  certificate_ending: { say: 'A certificate ends within 14 days, or has ended.' },
  certificate_unusable: {
    say: 'The files of the certificate that the listeners show were changed and cannot be served; the one from before is.',
  },
  certificate_not_renewed: {
    say: 'The ACME authority did not give a certificate when one was due; the one from before is shown.',
  },
  directory_sync_stopped: {
    say: 'The directory server would have more people blocked at once than may be: nobody was. Look at it, and at the settings.',
  },
  directory_unreachable: {
    say: 'The directory server cannot be read: people are as they were, and nobody signs in by it.',
  },
  object_store_failing: {
    say: 'The object store cannot be used: attachments that lie in it are not read, and new ones wait on the disk of the server.',
  },
  storage_damaged: {
    say: 'What is stored could not be read: restore a backup. The log says which file, or which message.',
  },
  archive_behind: {
    say: 'What is committed does not reach the archive of the logs, or something was left out of it: make a backup. The log says why.',
  },
  cluster_host_away: {
    say: 'A host of the cluster is away, far behind, or cannot store what the others have: one fewer may be lost.',
  },
  redaction_failing: { say: 'De-personalised answers could not be given.' },
  break_glass_used: { say: 'The break-glass account was used.', lasting: 24 * 3_600_000 },
  subscription_disabled: {
    say: 'An event subscription of a bot was disabled: its deliveries failed for three days.',
    lasting: 24 * 3_600_000,
  },
  session_reused: {
    say: 'A refresh token was used again after it had been replaced: somebody may have stolen a session, which was ended.',
    lasting: 24 * 3_600_000,
  },
  passkey_copied: {
    say: 'The counter of a passkey went back: somebody may have a copy of it. It signed nobody in.',
    lasting: 24 * 3_600_000,
  },
  shard_restarted: { say: 'A shard died and was started again.', lasting: 3_600_000 },
} as const satisfies Record<string, { readonly say: string; readonly lasting?: number }>;
export type AlertKind = keyof typeof ALERT_KINDS;
export type MomentKind =
  | 'subscription_disabled'
  | 'break_glass_used'
  | 'session_reused'
  | 'passkey_copied'
  | 'shard_restarted';

/** How often conditions are looked at. */
export const ALERTS_EVALUATED_MILLIS = 15_000;

/** Alerts kept, open and closed; the one that closed first goes. Subjects are nodes and disks, so few are open. */
export const ALERTS_KEPT_MAX = 1_000;

/** Conditions taken from one look: more is one trouble seen a thousand times, and the rest waits for room. */
export const CONDITIONS_MAX = 500;

export interface Condition {
  readonly kind: AlertKind;
  /** What it is about: `node:<id>`, `server`, `disk:<node>:<path>`. Kind and subject make one alert. */
  readonly subject: string;
  /** In figures, for a reader. */
  readonly details: string;
}

export interface AlertRecord extends Condition {
  readonly state: 'open' | 'closed';
  /** RFC 3339. */
  readonly since: string;
  readonly lastSeen: string;
  readonly closedAt: string | undefined;
  /** For a moment: until when it stays open, in milliseconds. */
  readonly until: number | undefined;
}

/** Looks at the world: every condition that holds now. */
export type ConditionSource = () => Promise<readonly Condition[]> | readonly Condition[];

const alerts = defineCollection<AlertRecord>('alerts', { version: 1 });

export interface AlertsOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  /** Source by name. One that fails leaves its kinds' alerts as they are, and is told to `failed`. */
  readonly sources: Readonly<Record<string, { readonly kinds: readonly AlertKind[]; readonly look: ConditionSource }>>;
  readonly failed: (source: string, error: unknown) => void;
}

export class Alerts {
  readonly #options: AlertsOptions;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  /** One look at a time: a slow source must not meet itself. */
  #looking: Promise<void> | undefined;
  /** One moment after the other, so that two of one kind and subject make one alert. */
  #noted: Promise<void> = Promise.resolve();

  constructor(options: AlertsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.evaluate(), ALERTS_EVALUATED_MILLIS).unref();
  }

  /**
   * Looks no more, and waits for the look that is under way. A moment is noted afterwards as well, until the accounts are
   * closed; a second call waits for it.
   */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.#timer = undefined;
    await this.#looking;
    await this.#noted;
  }

  /**
   * Raises an alert about a moment, which closes by itself after its kind's time. Resolves when it is on disk; a
   * failure is told to `failed` and to nobody else, since what happened has happened.
   */
  async note(kind: MomentKind, subject: string, details: string): Promise<void> {
    this.#noted = this.#noted
      .then(() => this.#note(kind, subject, details))
      .catch((error: unknown) => this.#options.failed('moments', error));
    await this.#noted;
  }

  async #note(kind: MomentKind, subject: string, details: string): Promise<void> {
    const { accounts, clock } = this.#options;
    const now = clock.now();
    const open = this.#openAlerts().find(({ document }) => document.kind === kind && document.subject === subject);
    await accounts.change((draft) => {
      const until = now + ALERT_KINDS[kind].lasting;
      const seen = { kind, subject, details, lastSeen: formatInstant(now), until };
      const since = open?.document.since ?? formatInstant(now);
      const id = open?.id ?? makeId('alrt', now);
      draft.putDocument(alerts, id, { ...seen, state: 'open', since, closedAt: undefined });
      if (open === undefined) draft.audit(now, raised({ kind, subject, details }));
    });
  }

  /** Looks at every source once, and opens, touches and closes alerts accordingly; nothing once stopped. */
  async evaluate(): Promise<void> {
    if (this.#isStopped) return;
    this.#looking ??= this.#evaluate().finally(() => {
      this.#looking = undefined;
    });
    await this.#looking;
  }

  /** Alerts of a state from the newest back, behind the id `before`. */
  page(state: AlertRecord['state'] | undefined, before: string | undefined, limit: number): Entry<AlertRecord>[] {
    const all = this.#options.accounts.documents(alerts).toReversed();
    const wanted = all.filter(({ id, document }) => {
      return (before === undefined || id < before) && (state === undefined || document.state === state);
    });
    return wanted.slice(0, limit);
  }

  get openCount(): number {
    return this.#openAlerts().length;
  }

  #openAlerts(): Entry<AlertRecord>[] {
    return this.#options.accounts.documents(alerts).filter(({ document }) => document.state === 'open');
  }

  async #evaluate(): Promise<void> {
    const { accounts, clock, failed } = this.#options;
    const { conditions, looked } = await this.#look();
    const now = clock.now();
    const at = formatInstant(now);
    const open = new Map(this.#openAlerts().map((entry) => [keyOf(entry.document), entry]));
    const seen = new Map(conditions.slice(0, CONDITIONS_MAX).map((condition) => [keyOf(condition), condition]));
    const ended = [...open].filter(([name, { document }]) => {
      if (document.until !== undefined) return document.until <= now;
      return looked.has(document.kind) && !seen.has(name);
    });
    if (seen.size === 0 && ended.length === 0) return;
    try {
      await accounts.change((draft) => {
        for (const [name, condition] of seen) {
          const known = open.get(name);
          const since = known?.document.since ?? at;
          const id = known?.id ?? makeId('alrt', now);
          const record = { ...condition, since, lastSeen: at, closedAt: undefined, until: undefined };
          draft.putDocument(alerts, id, { ...record, state: 'open' });
          if (known === undefined) draft.audit(now, raised(condition));
        }
        for (const [, { id, document }] of ended)
          draft.putDocument(alerts, id, { ...document, state: 'closed', closedAt: at });
      });
      await this.#prune();
    } catch (error) {
      // The next look finds the same conditions again.
      failed('storage', error);
    }
  }

  async #look(): Promise<{ conditions: Condition[]; looked: Set<AlertKind> }> {
    const conditions: Condition[] = [];
    const looked = new Set<AlertKind>();
    for (const [name, { kinds, look }] of Object.entries(this.#options.sources)) {
      try {
        conditions.push(...(await look()));
        for (const kind of kinds) looked.add(kind);
      } catch (error) {
        this.#options.failed(name, error);
      }
    }
    return { conditions, looked };
  }

  async #prune(): Promise<void> {
    const { accounts, clock } = this.#options;
    const kept = accounts.documents(alerts);
    const closed = kept.filter(({ document }) => document.state === 'closed');
    const oldest = closed.toSorted((a, b) => ((a.document.closedAt ?? '') < (b.document.closedAt ?? '') ? -1 : 1));
    const limit = formatInstant(clock.now() - CLOSED_KEPT_MILLIS);
    const surplus = Math.max(0, kept.length - ALERTS_KEPT_MAX);
    const over = oldest.filter(({ document }, at) => at < surplus || (document.closedAt ?? '') < limit);
    if (over.length === 0) return;
    await accounts.change((draft) => over.forEach(({ id }) => draft.removeDocument(alerts, id)));
  }
}

/** How long a closed alert stays readable. */
const CLOSED_KEPT_MILLIS = 30 * 86_400_000;

/** A new alert in the audit trail, where automations hear of it. */
function raised({ kind, subject, details }: Condition) {
  return { event: 'alert.raised', actor: 'server', address: null, subject, details: { kind, details } };
}

function keyOf({ kind, subject }: Pick<Condition, 'kind' | 'subject'>): string {
  return `${kind}\0${subject}`;
}
