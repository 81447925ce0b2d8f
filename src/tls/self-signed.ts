/** A certificate that nobody vouches for, to look at the server over TLS before there is a real one. */
import 'reflect-metadata';
import { KeyObject, webcrypto, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { BasicConstraintsExtension, SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509';

/** Days that it is good for: long enough for a first look, and an end to what was meant for one. */
export const SELF_SIGNED_DAYS = 90;

const DAY_MILLIS = 86_400_000;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

export interface SelfSigned {
  /** PEM. */
  readonly certificate: string;
  /** PEM of PKCS #8, not encrypted. */
  readonly key: string;
  /** SHA-256, as a browser shows it. */
  readonly fingerprint: string;
}

/** A new key with a certificate for these names and addresses, at least one; `from` in milliseconds since 1970. */
export async function makeSelfSigned(hosts: readonly string[], from: number): Promise<SelfSigned> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const made = await X509CertificateGenerator.createSelfSigned({
    // The subject alone tells people which of several it is; programs look at the alternative names (RFC 6125).
    name: [{ CN: ['Parley, self-signed'] }],
    keys,
    signingAlgorithm: ALGORITHM,
    notBefore: new Date(from - DAY_MILLIS),
    notAfter: new Date(from + SELF_SIGNED_DAYS * DAY_MILLIS),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new SubjectAlternativeNameExtension(
        hosts.map((value) => ({ type: isIP(value) === 0 ? ('dns' as const) : ('ip' as const), value })),
      ),
    ],
  });
  const certificate = `${made.toString('pem')}\n`;
  return {
    certificate,
    key: KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' }) as string,
    fingerprint: new X509Certificate(certificate).fingerprint256,
  };
}
