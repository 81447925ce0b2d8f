/**
 * Service tokens (CRD-05): what the services of one installation show each other. They come from the configuration, so
 * another token takes a restart with it, and they open the internal routes and nothing else.
 */
import { hashSecret, sameHash } from './credentials/opaque-secrets.ts';
import { Refusal } from '#src/protocol/errors.ts';

/** The mail server that hands calendar mail over: no service of the product, and often of another host. */
export const MAIL_SERVICE = 'mail';

export class ServiceTokens {
  /** Service → SHA-256 of its token, hex: texts of one length, whose comparison tells nothing of the token's. */
  readonly #hashes: readonly (readonly [service: string, hash: string])[];

  constructor(tokens: Readonly<Record<string, string>>) {
    this.#hashes = Object.entries(tokens).map(([service, token]) => [service, hashSecret(token)] as const);
  }

  /** The name of the service whose token this is. @throws Refusal `token_missing`, `token_invalid`. */
  authenticate(token: string | undefined): string {
    if (token === undefined || token === '') throw new Refusal('token_missing');
    const hash = hashSecret(token);
    // All are compared, so that the answer takes as long whichever it is.
    const [match] = this.#hashes.filter(([, known]) => sameHash(known, hash));
    if (match === undefined) throw new Refusal('token_invalid');
    return match[0];
  }

  /** As `authenticate`, for what the product's own services ask. @throws Refusal `right_missing` for the mail server too. */
  authenticateInternal(token: string | undefined): string {
    const service = this.authenticate(token);
    if (service === MAIL_SERVICE) throw new Refusal('right_missing');
    return service;
  }
}
