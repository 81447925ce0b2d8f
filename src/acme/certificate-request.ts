/** A new key, and the request for a certificate of it (PKCS #10). */
import 'reflect-metadata';
import { KeyObject, webcrypto } from 'node:crypto';
import { Pkcs10CertificateRequestGenerator, SubjectAlternativeNameExtension } from '@peculiar/x509';

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

export interface CertificateRequest {
  /** PEM of PKCS #8, not encrypted. */
  readonly key: string;
  /** DER. */
  readonly request: Uint8Array;
}

export async function makeCertificateRequest(names: readonly string[]): Promise<CertificateRequest> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const request = await Pkcs10CertificateRequestGenerator.create({
    keys,
    signingAlgorithm: ALGORITHM,
    extensions: [new SubjectAlternativeNameExtension(names.map((value) => ({ type: 'dns' as const, value })))],
  });
  return {
    key: KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' }) as string,
    request: new Uint8Array(request.rawData),
  };
}
