/**
 * The certificate that the listeners show, from its files: read as they are now, and judged before anybody serves it.
 */
import { createPrivateKey, X509Certificate, type KeyObject } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { type Config, variableOf } from '#src/config.ts';

/** How long a browser remembers to come over TLS only (RFC 6797): a year, what the preload lists of browsers ask for. */
export const HSTS_SECONDS = 31_536_000;

/** A certificate and its key, fit to be served: plain data, because it crosses threads. */
export interface Certificate {
  /** PEM: the certificate, the chain to its authority behind it. */
  readonly chain: string;
  /** PEM of PKCS #8, not encrypted. A secret. */
  readonly key: string;
  /** When it ends, in milliseconds since 1970. */
  readonly notAfter: number;
  /** SHA-256 of the certificate, as pairs of hex digits with colons: what a browser shows. */
  readonly fingerprint: string;
}

/** Where the certificate lies, as the configuration says. */
export interface CertificateFiles {
  readonly chain: string;
  readonly key: string;
  /** Holds the passphrase of the key, where it has one. */
  readonly passphrase: string | undefined;
}

/** What the files held when they were read. Two of the same text are the same certificate. */
export interface CertificateTexts {
  readonly chain: string;
  readonly key: string;
  readonly passphrase: string | undefined;
  /** Whether anybody on the machine may read the key. */
  readonly isKeyPublic: boolean;
}

/** Files that cannot be served; the sentence names the setting and says what is wrong, and repeats nothing of a key. */
export class CertificateError extends Error {}

/** The files that the configuration names; undefined where the listeners speak plain HTTP. */
export function certificateFilesOf(
  config: Pick<Config, 'tlsCertificateFile' | 'tlsKeyFile' | 'tlsPassphraseFile'>,
): CertificateFiles | undefined {
  const { tlsCertificateFile: chain, tlsKeyFile: key, tlsPassphraseFile: passphrase } = config;
  return chain === undefined || key === undefined ? undefined : { chain, key, passphrase };
}

/** What the files hold. @throws CertificateError for one that cannot be read. */
export async function readCertificateFiles(files: CertificateFiles): Promise<CertificateTexts> {
  const [chain, key, passphrase, isKeyPublic] = await Promise.all([
    readText('tlsCertificateFile', files.chain),
    readText('tlsKeyFile', files.key),
    files.passphrase === undefined ? undefined : readText('tlsPassphraseFile', files.passphrase),
    stat(files.key).then(
      ({ mode }) => (mode & 0o007) !== 0,
      () => false,
    ),
  ]);
  return { chain, key, passphrase: passphrase?.replace(/\r?\n$/, ''), isKeyPublic };
}

/** The certificate that the texts are. @throws CertificateError where they are none that can be served. */
export function judgeCertificate(texts: CertificateTexts): Certificate {
  if (texts.isKeyPublic) {
    throw new CertificateError(`The file of ${variableOf('tlsKeyFile')} is open to everybody: chmod o= it.`);
  }
  const certificate = attempt(
    () => new X509Certificate(texts.chain),
    'tlsCertificateFile',
    'holds no certificate in PEM',
  );
  const key = readKey(texts);
  if (!certificate.checkPrivateKey(key)) {
    const names = `${variableOf('tlsKeyFile')} and ${variableOf('tlsCertificateFile')}`;
    throw new CertificateError(`The files of ${names} do not belong together: the key is another certificate’s.`);
  }
  const pem = key.export({ type: 'pkcs8', format: 'pem' }) as string;
  // What the TLS library itself refuses: a key too short, a chain that is cut off in the middle.
  attempt(() => createSecureContext({ cert: texts.chain, key: pem }), 'tlsCertificateFile', 'cannot be served');
  const notAfter = Date.parse(certificate.validTo);
  return { chain: texts.chain, key: pem, notAfter, fingerprint: certificate.fingerprint256 };
}

function readKey({ key, passphrase }: CertificateTexts): KeyObject {
  if (passphrase === undefined && /^(?:-----BEGIN ENCRYPTED|Proc-Type:.*ENCRYPTED)/m.test(key)) {
    const name = variableOf('tlsPassphraseFile');
    throw new CertificateError(`The file of ${variableOf('tlsKeyFile')} has a passphrase, and ${name} names none.`);
  }
  const why = passphrase === undefined ? 'holds no private key in PEM' : 'holds no key that the passphrase opens';
  return attempt(
    () => createPrivateKey({ key, ...(passphrase === undefined ? {} : { passphrase }) }),
    'tlsKeyFile',
    why,
  );
}

type FileSetting = 'tlsCertificateFile' | 'tlsKeyFile' | 'tlsPassphraseFile';

function attempt<T>(make: () => T, setting: FileSetting, why: string): T {
  try {
    return make();
  } catch (error) {
    throw new CertificateError(`The file of ${variableOf(setting)} ${why}.`, { cause: error });
  }
}

async function readText(setting: FileSetting, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CertificateError(`The file of ${variableOf(setting)}, ${path}, cannot be read (${code}).`, {
      cause: error,
    });
  }
}
