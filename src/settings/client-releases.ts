/** Releases of the clients, announced by whoever builds them with the publish token, and read by anybody. */
import { hashSecret, sameHash } from '#src/identity/credentials/opaque-secrets.ts';
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import {
  CLIENT_PLATFORMS,
  type AnnounceRelease,
  type CLIENT_RELEASE_ROUTES,
  type ClientPlatform,
  type ClientRelease,
} from '#src/protocol/hosts/client-releases.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import type { ClientHandlers } from '#src/http/client-routes.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';

/** The release announced last, under its platform. */
const clientReleases = defineCollection<Omit<ClientRelease, 'platform'>>('client_releases', { version: 1 });

/** SHA-256 of the token, hex: it is long and random, so nothing else has to be kept of it. */
const publishTokens = defineCollection<{ readonly hash: string; readonly setAt: string }>('publish_token', {
  version: 1,
});
const PUBLISH = 'publish';

export class ClientReleases {
  readonly #accounts: Accounts;
  readonly #clock: Clock;

  constructor(accounts: Accounts, clock: Clock) {
    this.#accounts = accounts;
    this.#clock = clock;
  }

  /** Whether there is a publish token. */
  get isTokenSet(): boolean {
    return this.#accounts.document(publishTokens, PUBLISH) !== undefined;
  }

  /** Sets the publish token in the place of the one before, or with null removes it. */
  async setToken(token: string | null, by: AuditActor): Promise<void> {
    const now = this.#clock.now();
    await this.#accounts.change((draft) => {
      if (token === null) draft.removeDocument(publishTokens, PUBLISH);
      else draft.putDocument(publishTokens, PUBLISH, { hash: hashSecret(token), setAt: formatInstant(now) });
      const details = { set: token !== null };
      draft.audit(now, { event: 'clients.publish_token_set', ...by, subject: null, details });
    });
  }

  /**
   * Announces a release, which is the latest of its platform from now on.
   * @throws Refusal `token_missing`, `token_invalid`, the same where no token is set.
   */
  async announce(token: string | undefined, form: AnnounceRelease, address: string): Promise<ClientRelease> {
    if (token === undefined) throw new Refusal('token_missing');
    const hash = hashSecret(token);
    const now = this.#clock.now();
    const { platform, ...release } = form;
    const stored = { ...release, announced_at: formatInstant(now) };
    await this.#accounts.change((draft) => {
      const known = draft.document(publishTokens, PUBLISH);
      if (known === undefined || !sameHash(known.hash, hash)) throw new Refusal('token_invalid');
      draft.putDocument(clientReleases, platform, stored);
      draft.audit(now, {
        event: 'clients.release_announced',
        actor: 'publisher',
        address,
        subject: `client:${platform}`,
        details: { version: release.version, url: release.url },
      });
    });
    return { platform, ...stored };
  }

  /** @throws Refusal `client_release_not_found`. */
  latest(platform: ClientPlatform): ClientRelease {
    const stored = this.#accounts.document(clientReleases, platform);
    if (stored === undefined) throw new Refusal('client_release_not_found');
    return { platform, ...stored };
  }

  /** The latest of every platform that has one. */
  list(): ClientRelease[] {
    return CLIENT_PLATFORMS.flatMap((platform) => {
      const stored = this.#accounts.document(clientReleases, platform);
      return stored === undefined ? [] : [{ platform, ...stored }];
    });
  }
}

/** The handlers of the clients' own routes. */
export function makeClientReleaseHandlers(releases: ClientReleases): ClientHandlers<typeof CLIENT_RELEASE_ROUTES> {
  return {
    announceRelease: async ({ token, body, address }) => ({
      status: 201,
      body: await releases.announce(token, body as AnnounceRelease, address),
    }),
    readLatestRelease: ({ query }) => ({
      status: 200,
      body: releases.latest((query as { platform: ClientPlatform }).platform),
    }),
  };
}
