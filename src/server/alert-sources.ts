/** Where alerts come from: one source for each thing that is looked at, and the bounds beyond which it is a trouble. */
import type { ClusterHost } from '#src/telemetry/health-body.ts';
import type { LdapSyncFault } from '#src/directory/ldap-sync.ts';
import { statfs } from 'node:fs/promises';
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import type { AlertsOptions, Condition } from '#src/monitoring/alerts.ts';
import type { CertificateRenewal } from '#src/acme/certificate-renewal.ts';
import type { CertificateWatch } from '#src/tls/certificate-watch.ts';
import type { Nodes } from '#src/hosts/nodes.ts';
import { ACCOUNTS_MAP_BYTES } from '#storage/accounts/accounts-reader.ts';

/** A disk is low below either: a share is what small disks mean by it, and a gibibyte is an hour of a busy server. */
export const DISK_FREE_SHARE_MIN = 0.05;
export const DISK_FREE_BYTES_MIN = 1024 ** 3;

/** A commit is a disk flush of some milliseconds. At a quarter of a second every sender feels it. */
export const COMMIT_P99_SECONDS_MAX = 0.25;

/** From this share of its cap on the accounts file is told of: the last fifth is some years of an ordinary trail. */
export const ACCOUNTS_FILLED_SHARE = 0.8;

/** Renewal programs renew a month before the end, so that at 14 days one has failed for two weeks. */
export const CERTIFICATE_MILLIS_MIN = 14 * 86_400_000;

/** The archive of the logs is written each second, and each ten where nothing happens. */
export const ARCHIVE_LAG_SECONDS_MAX = 60;

/** Reads that found damage, and lanes that are set aside. */
interface StorageDamage {
  readonly faults: number;
  readonly lanes_set_aside: number;
  readonly archive_gaps: number;
  readonly archive_lag_seconds: number;
}

export interface AlertSourcesOptions {
  readonly nodes: Nodes;
  readonly clock: Clock;
  /** The data folder, whose disk is looked at. */
  readonly folder: string;
  /** When the server started, in milliseconds. */
  readonly startedAt: number;
  /** The 99th percentile of commits; null while there are none. */
  readonly commitP99Seconds: () => Promise<number | null>;
  /** What the listeners show; undefined where they speak plain HTTP. */
  readonly certificate?: Pick<CertificateWatch, 'current' | 'fault'> | undefined;
  readonly renewal?: Pick<CertificateRenewal, 'fault'> | undefined;
  /** When the certificate of the settings ends, in RFC 3339; undefined while there is none. */
  readonly certificateEnd?: () => string | undefined;
  /** Bytes of the accounts file that hold something. */
  readonly accountsUsedBytes: () => number;
  /** Quotas of all people together that are nearly used up. */
  readonly quotaConditions: () => Condition[];
  /** What is wrong with the directory server. */
  readonly directoryFault?: (() => LdapSyncFault | undefined) | undefined;
  /** Why the object store cannot be used; null: it can, or there is none. */
  readonly objectStoreFault?: (() => string | null) | undefined;
  /** Reads that found what is stored damaged, since the start, and lanes that are set aside. */
  readonly storageDamage: () => Promise<StorageDamage>;
  /** The hosts of the cluster that are there; null where this host is alone. */
  readonly clusterHosts: () => Promise<readonly ClusterHost[] | null>;
  /** De-personalised answers that failed since the start. */
  readonly redactionFailures: () => number;
}

/** The sources of an installation's alerts. */
export function makeAlertSources(options: AlertSourcesOptions): AlertsOptions['sources'] {
  const { commitP99Seconds, folder, redactionFailures } = options;
  let failuresBefore = redactionFailures();
  return {
    nodes: {
      kinds: ['node_silent', 'certificate_ending', 'disk_low'],
      // The data folder's disk and the certificates of settings and listeners belong to the same kinds: a kind has one source, or its alerts would flap.
      look: async () => [
        ...nodeConditions(options),
        ...certificateCondition('certificate:settings', options.certificateEnd?.(), options.clock.now()),
        ...certificateCondition('certificate:listeners', servedUntil(options), options.clock.now()),
        ...diskCondition('disk:server', await freeOn(folder)),
      ],
    },
    certificate: {
      kinds: ['certificate_unusable'],
      look: () => {
        const fault = options.certificate?.fault;
        return fault === undefined ? [] : [{ kind: 'certificate_unusable', subject: 'server', details: fault }];
      },
    },
    renewal: {
      kinds: ['certificate_not_renewed'],
      look: () => {
        const fault = options.renewal?.fault;
        return fault === undefined ? [] : [{ kind: 'certificate_not_renewed', subject: 'server', details: fault }];
      },
    },
    commits: {
      kinds: ['commit_slow'],
      look: async () => {
        const seconds = await commitP99Seconds();
        if (seconds === null || seconds <= COMMIT_P99_SECONDS_MAX) return [];
        return [{ kind: 'commit_slow', subject: 'server', details: `p99 ${seconds.toFixed(3)} s` }];
      },
    },
    ...storageSources(options),
    cluster: { kinds: ['cluster_host_away'], look: makeClusterLook(options.clusterHosts) },
    accounts: {
      kinds: ['accounts_filling'],
      look: () => accountsCondition(options.accountsUsedBytes()),
    },
    quotas: { kinds: ['quota_near'], look: options.quotaConditions },
    directory: {
      kinds: ['directory_sync_stopped', 'directory_unreachable'],
      look: () => {
        const fault = options.directoryFault?.();
        return fault === undefined ? [] : [{ ...fault, subject: 'server' }];
      },
    },
    objectStore: {
      kinds: ['object_store_failing'],
      look: () => {
        const details = options.objectStoreFault?.() ?? null;
        return details === null ? [] : [{ kind: 'object_store_failing', subject: 'server', details }];
      },
    },
    redaction: {
      kinds: ['redaction_failing'],
      look: () => {
        const failures = redactionFailures();
        const fresh = failures - failuresBefore;
        failuresBefore = failures;
        if (fresh <= 0) return [];
        return [{ kind: 'redaction_failing', subject: 'server', details: `${fresh} answers since the last look` }];
      },
    },
  };
}

function storageSources({ storageDamage }: Pick<AlertSourcesOptions, 'storageDamage'>): AlertsOptions['sources'] {
  return {
    storage: { kinds: ['storage_damaged'], look: async () => storageCondition(await storageDamage()) },
    archive: { kinds: ['archive_behind'], look: async () => archiveCondition(await storageDamage()) },
  };
}

/** A host that lags by more than this is far behind. */
const HOST_LAG_MILLIS_MAX = 5_000;

/** Hosts that were there since the start and are not, and those that are not level. */
function makeClusterLook(clusterHosts: AlertSourcesOptions['clusterHosts']): () => Promise<Condition[]> {
  const seen = new Set<string>();
  return async () => {
    const hosts = await clusterHosts();
    if (hosts === null) return [];
    const there = new Set(hosts.map(({ host }) => host));
    const away = [...seen].filter((host) => !there.has(host)).map((host) => ({ host, details: 'away' }));
    for (const host of there) seen.add(host);
    const behind = hosts.flatMap(({ host, lag_ms: lag, role }) => {
      if (role === 'cannot_store') return [{ host, details: 'cannot store' }];
      return lag > HOST_LAG_MILLIS_MAX ? [{ host, details: `${Math.round(lag / 1_000)} s behind` }] : [];
    });
    return [...away, ...behind].map(({ details, host }) => ({
      kind: 'cluster_host_away',
      subject: `host:${host}`,
      details,
    }));
  };
}

function nodeConditions({ nodes, clock, startedAt }: AlertSourcesOptions): Condition[] {
  const now = clock.now();
  return nodes.all().flatMap((entry) => {
    if (entry.document.state !== 'joined') return [];
    const { id } = entry;
    const last = nodes.health(id);
    const silent: Condition[] = nodes.isSilent(entry, startedAt)
      ? [{ kind: 'node_silent', subject: `node:${id}`, details: `last seen ${last?.receivedAt ?? 'never'}` }]
      : [];
    const disks = (last?.health.disks ?? []).flatMap(({ path, total_bytes: total, free_bytes: free }) =>
      diskCondition(`disk:${id}:${path}`, { total, free }),
    );
    const ending = (last?.health.certificates ?? []).flatMap(({ name, not_after: end }) =>
      certificateCondition(`certificate:${id}:${name}`, end, now),
    );
    return [...silent, ...disks, ...ending];
  });
}

/** When the certificate of the listeners ends, in RFC 3339. */
function servedUntil({ certificate }: AlertSourcesOptions): string | undefined {
  return certificate === undefined ? undefined : formatInstant(certificate.current.notAfter);
}

/** A certificate that ends soon, or has ended, as a condition. */
function certificateCondition(subject: string, end: string | undefined, now: number): Condition[] {
  if (end === undefined || Date.parse(end) - now >= CERTIFICATE_MILLIS_MIN) return [];
  return [{ kind: 'certificate_ending', subject, details: `ends ${end}` }];
}

interface Space {
  readonly total: number;
  readonly free: number;
}

async function freeOn(folder: string): Promise<Space> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { total: blocks * bsize, free: bavail * bsize };
}

/** Damage to what is stored, as a condition. It does not heal: what was found once since the start is told until the next. */
function storageCondition({ faults, lanes_set_aside: lanes }: StorageDamage): Condition[] {
  if (faults === 0 && lanes === 0) return [];
  return [{ kind: 'storage_damaged', subject: 'server', details: `${faults} reads, ${lanes} lanes set aside` }];
}

/** An archive of the logs that lacks something, as a condition. A gap since the start is told until the next. */
function archiveCondition({ archive_gaps: gaps, archive_lag_seconds: lag }: StorageDamage): Condition[] {
  if (gaps === 0 && lag <= ARCHIVE_LAG_SECONDS_MAX) return [];
  return [{ kind: 'archive_behind', subject: 'server', details: `${Math.round(lag)} s behind, ${gaps} gaps` }];
}

/** An accounts file that fills, as a condition: from its share of the cap on. */
export function accountsCondition(used: number): Condition[] {
  if (used < ACCOUNTS_FILLED_SHARE * ACCOUNTS_MAP_BYTES) return [];
  const percent = ((used / ACCOUNTS_MAP_BYTES) * 100).toFixed(1);
  const details = `${used} of ${ACCOUNTS_MAP_BYTES} bytes used (${percent} %)`;
  return [{ kind: 'accounts_filling', subject: 'server', details }];
}

/** A low disk as a condition. A disk smaller than the least bytes is judged by its share alone. */
export function diskCondition(subject: string, { total, free }: Space): Condition[] {
  if (total <= 0) return [];
  const isLow = free / total < DISK_FREE_SHARE_MIN || (free < DISK_FREE_BYTES_MIN && total > 2 * DISK_FREE_BYTES_MIN);
  if (!isLow) return [];
  const percent = ((free / total) * 100).toFixed(1);
  return [{ kind: 'disk_low', subject, details: `${free} of ${total} bytes free (${percent} %)` }];
}
