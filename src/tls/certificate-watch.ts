/**
 * Looks whether the certificate's files have changed, and hands a new one over. Files that cannot be served change
 * nothing: the certificate from before is shown on, and whoever operates the server is told.
 */
import type { Log } from '#src/telemetry/log.ts';
import type { ScalarName } from '#src/telemetry/metric-table.ts';
import { oneSample, type Sample } from '#src/telemetry/metrics.ts';
import {
  type Certificate,
  CertificateError,
  type CertificateFiles,
  type CertificateTexts,
  judgeCertificate,
  readCertificateFiles,
} from './certificate.ts';

/**
 * How often the files are looked at. By their text and not by events of the file system: renewal programs put links in the
 * place of links, and containers mount whole folders anew.
 */
const LOOK_MILLIS = 1_000;

export interface CertificateWatchOptions {
  readonly files: CertificateFiles;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/** Has everybody serve a new certificate; rejects where somebody could not, and is then asked again. */
type Serve = (certificate: Certificate) => Promise<void>;

export class CertificateWatch {
  readonly #options: CertificateWatchOptions;
  #timer: NodeJS.Timeout | undefined;
  #current: Certificate;
  #served: CertificateTexts;
  #looking: Promise<void> | undefined;
  /** What is wrong with the files, as the last look found it; said once it is found twice, since two files change one after the other. */
  #fault: { readonly sentence: string; readonly isSaid: boolean } | undefined;

  private constructor(options: CertificateWatchOptions, served: CertificateTexts) {
    this.#options = options;
    this.#served = served;
    this.#current = judgeCertificate(served);
  }

  /** Reads what the files hold. @throws CertificateError where that cannot be served. */
  static async open(options: CertificateWatchOptions): Promise<CertificateWatch> {
    return new CertificateWatch(options, await readCertificateFiles(options.files));
  }

  /** The one that is served. */
  get current(): Certificate {
    return this.#current;
  }

  /** Why the files, as they are now, are not served; undefined while they are. */
  get fault(): string | undefined {
    return this.#fault?.isSaid === true ? this.#fault.sentence : undefined;
  }

  get metrics(): Readonly<Partial<Record<ScalarName, Sample[]>>> {
    return {
      parley_tls_certificate_end_time_seconds: oneSample(this.#current.notAfter / 1000),
      parley_tls_certificate_unusable: oneSample(this.fault === undefined ? 0 : 1),
    };
  }

  /** Begins to look for others. */
  start(serve: Serve): void {
    this.#timer = setInterval(() => {
      this.#looking ??= this.#look(serve).finally(() => {
        this.#looking = undefined;
      });
    }, LOOK_MILLIS).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }

  async #look(serve: Serve): Promise<void> {
    const { files, log } = this.#options;
    try {
      const texts = await readCertificateFiles(files);
      if (!isSame(texts, this.#served)) {
        const certificate = judgeCertificate(texts);
        await serve(certificate);
        this.#served = texts;
        this.#current = certificate;
        const ends = new Date(certificate.notAfter).toISOString();
        log.info('a new certificate is served', { fingerprint: certificate.fingerprint, ends });
      }
      this.#fault = undefined;
    } catch (error) {
      this.#note(error instanceof CertificateError ? error.message : `A thread did not take it: ${String(error)}`);
    }
  }

  #note(sentence: string): void {
    const before = this.#fault;
    const isSaid = before?.sentence === sentence;
    if (isSaid && !before.isSaid) {
      this.#options.log.warn('the certificate’s files cannot be served; the one from before is', { why: sentence });
    }
    this.#fault = { sentence, isSaid };
  }
}

function isSame(one: CertificateTexts, other: CertificateTexts): boolean {
  return (
    one.chain === other.chain &&
    one.key === other.key &&
    one.passphrase === other.passphrase &&
    one.isKeyPublic === other.isKeyPublic
  );
}
