/**
 * Keeps a certificate of an ACME authority in the data folder: ordered when there is none and when a third of its life is
 * left, tried again ever later while that fails. The listeners take what is written there as they take any changed files,
 * so whatever goes wrong here leaves them the certificate from before.
 */
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Clock } from '#src/base/clock.ts';
import { type Config, variableOf } from '#src/config.ts';
import { backoffMillis } from '#src/delivery/backoff.ts';
import type { Log } from '#src/telemetry/log.ts';
import type { ScalarName } from '#src/telemetry/metric-table.ts';
import { oneSample, type Sample } from '#src/telemetry/metrics.ts';
import { judgeCertificate, readCertificateFiles } from '#src/tls/certificate.ts';
import { AcmeClient, AcmeError } from './acme-client.ts';
import { AcmeFiles } from './acme-files.ts';
import { ChallengeListener } from './challenge-listener.ts';

/** How often it is looked whether a renewal is due. */
const LOOK_MILLIS = 3_600_000;
/** Authorities count failures by the hour (Let's Encrypt: five of a name), so the second attempt waits ten minutes. */
const RETRY = { firstMillis: 600_000, mostMillis: 12 * 3_600_000 } as const;

type AcmeConfig = Pick<Config, 'acmeDirectoryUrl' | 'acmeHttpPort' | 'acmeNames' | 'allowPrivateTargets' | 'host'>;

export interface CertificateRenewalOptions {
  readonly config: AcmeConfig;
  readonly files: AcmeFiles;
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/** The names of the setting, in their order. */
export function namesOf({ acmeNames }: Pick<Config, 'acmeNames'>): string[] {
  return acmeNames.split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim()]));
}

/**
 * When a certificate has to be renewed, in milliseconds since 1970: at a third of its life left; at once where it is
 * none of an authority, or not of all the names.
 */
export function renewalDue(chain: string, names: readonly string[]): number {
  const certificate = new X509Certificate(chain);
  const isOwn = certificate.issuer === certificate.subject;
  if (isOwn || names.some((name) => certificate.checkHost(name) === undefined)) return 0;
  const [from, to] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)];
  return to - (to - from) / 3;
}

/**
 * Files that the listeners can show: what is there, or a self-signed certificate until the authority gives one.
 * @throws the platform's error where the data folder cannot be written.
 */
export async function prepareAcme(dataFolder: string, names: readonly string[], now: number): Promise<AcmeFiles> {
  const files = new AcmeFiles(dataFolder);
  const isServable = await readCertificateFiles(files.certificate).then(
    (texts) => judgeCertificate(texts) !== undefined,
    () => false,
  );
  if (isServable) return files;
  // Loaded where it is needed: it brings a library that most servers have no use for.
  const { makeSelfSigned } = await import('#src/tls/self-signed.ts');
  const { certificate, key } = await makeSelfSigned(names, now);
  await files.keep(certificate, key);
  return files;
}

export class CertificateRenewal {
  readonly #options: CertificateRenewalOptions;
  readonly #names: readonly string[];
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #failures = 0;
  #fault: string | undefined;

  constructor(options: CertificateRenewalOptions) {
    this.#options = options;
    this.#names = namesOf(options.config);
  }

  /** Why the last attempt failed; undefined when it did not. */
  get fault(): string | undefined {
    return this.#fault;
  }

  get metrics(): Readonly<Partial<Record<ScalarName, Sample[]>>> {
    return { parley_tls_renewal_failing: oneSample(this.#fault === undefined ? 0 : 1) };
  }

  /** Looks now, and from then on. */
  start(): void {
    this.#looking = this.#look().then((wait) => {
      if (!this.#stopping.signal.aborted) this.#timer = setTimeout(() => this.start(), wait).unref();
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#looking;
  }

  /** Renews what is due; answers after how many milliseconds to look again. */
  async #look(): Promise<number> {
    const { clock, files, log } = this.#options;
    try {
      const due = renewalDue(await readFile(files.certificate.chain, 'utf8'), this.#names);
      if (due > clock.now()) return Math.min(LOOK_MILLIS, due - clock.now());
      await this.#renew();
      this.#failures = 0;
      this.#fault = undefined;
      return LOOK_MILLIS;
    } catch (error) {
      if (this.#stopping.signal.aborted) return LOOK_MILLIS;
      this.#failures += 1;
      this.#fault = error instanceof Error ? error.message : String(error);
      const asked = error instanceof AcmeError ? (error.retryMillis ?? 0) : 0;
      const wait = Math.min(RETRY.mostMillis, Math.max(asked, backoffMillis(this.#failures, RETRY)));
      const again = new Date(clock.now() + wait).toISOString();
      log.warn('the certificate could not be renewed; the one from before is shown', { why: this.#fault, again });
      return wait;
    }
  }

  async #renew(): Promise<void> {
    const { config, files, log } = this.#options;
    const { makeCertificateRequest } = await import('./certificate-request.ts');
    const { key, request } = await makeCertificateRequest(this.#names);
    const client = new AcmeClient({
      directory: config.acmeDirectoryUrl,
      accountKey: await files.accountKey(),
      allowPrivateTargets: config.allowPrivateTargets,
      signal: this.#stopping.signal,
    });
    const listener = await openListener(config);
    try {
      const chain = await client.order(this.#names, request, listener);
      // What cannot be served is not written over what can.
      judgeCertificate({ chain, key, passphrase: undefined, isKeyPublic: false });
      await files.keep(chain, key);
      log.info('the authority gave a certificate', { names: this.#names });
    } finally {
      await listener.close();
    }
  }
}

/** @throws AcmeError where the port cannot be had. */
async function openListener({ acmeHttpPort, host }: AcmeConfig): Promise<ChallengeListener> {
  try {
    return await ChallengeListener.open(host, acmeHttpPort);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const sentence = `Port ${acmeHttpPort} of ${variableOf('acmeHttpPort')} cannot be listened on (${code}).`;
    throw new AcmeError('port', sentence);
  }
}
