/** What the parts of the server are made from, open before any of them. */
import type { Placement } from '#actors/runtime/placement.ts';
import type { SessionTokens } from '#src/identity/credentials/session-tokens.ts';
import type { TrustedProxies } from '#src/limits/trusted-proxies.ts';
import type { Config } from '#src/config.ts';
import type { LimiterMemory } from '#src/limits/bucket-table.ts';
import type { Limiter } from '#src/limits/limiter.ts';
import type { Log } from '#src/telemetry/log.ts';
import type { RecentLines } from '#src/telemetry/recent-lines.ts';
import type { ThreadMetrics } from '#src/telemetry/thread-metrics.ts';
import type { CertificateRenewal } from '#src/acme/certificate-renewal.ts';
import type { CertificateWatch } from '#src/tls/certificate-watch.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { DurableWords } from '#storage/engine/folder-logs.ts';
import type { Manifest } from '#storage/engine/folder.ts';

export interface Base {
  readonly config: Config;
  /** What the listeners show; undefined where they speak plain HTTP. */
  readonly certificate: CertificateWatch | undefined;
  /** Keeps that certificate, where an ACME authority gives it. */
  readonly renewal: CertificateRenewal | undefined;
  /** Whose word on where a request came from is believed. */
  readonly hosts: TrustedProxies;
  readonly folder: string;
  readonly manifest: Manifest;
  /** Lanes that cannot be read, by their numbers. */
  readonly setAside: readonly number[];
  readonly accounts: Accounts;
  readonly tokens: SessionTokens;
  readonly placement: Placement;
  /** Backups under way, for all shards to see. */
  readonly backups: SharedArrayBuffer;
  /** How far the logs of the folder are durable. */
  readonly words: DurableWords;
  /** What all threads count requests in, and this thread's way to count. */
  readonly limits: LimiterMemory;
  readonly limiter: Limiter;
  readonly log: Log;
  /** The last lines of all threads, for the console. */
  readonly recentLines: RecentLines;
  readonly metrics: ThreadMetrics;
}

/** The release that runs, and since when: milliseconds since 1970. */
export interface Release {
  readonly version: string;
  readonly startedAt: number;
}
