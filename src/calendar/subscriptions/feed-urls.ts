/**
 * Addresses of feeds. Many carry the secret that opens a private calendar, so each is stored sealed: under a key of the
 * calendar's own, which the vault keeps, and which it seals itself while encryption at rest is on.
 */
import { randomBytes } from 'node:crypto';
import { Refusal } from '#src/protocol/errors.ts';
import { checkedHost, isTargetUrl, type PrivateTargets } from '#src/outgoing/targets.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import { KEY_BYTES, seal, unseal } from '#storage/vault/sealing.ts';
import type { Vault } from '#storage/vault/vault.ts';

/** The name of the key in the vault. */
const SECRET = 'calendar_feeds';
/** There is one key: another data key of the vault seals it anew, and the addresses stay as they are. */
const KEY_ID = '0000000000000001';

/** Where a feed may be, and where it may be sent on to. */
export const FEED_SCHEMES = ['https:'];

export interface FeedUrlsOptions {
  readonly accounts: Pick<Accounts, 'change'>;
  readonly vault: Pick<Vault, 'get' | 'isSet' | 'put'>;
  readonly allowPrivateTargets: PrivateTargets;
}

export class FeedUrls {
  readonly #options: FeedUrlsOptions;

  constructor(options: FeedUrlsOptions) {
    this.#options = options;
  }

  /**
   * The address that a person wrote, as it is asked for. `field` names it in the request.
   * @throws Refusal `field_invalid` for what is no address of a feed, `target_private`.
   */
  read(text: string, field: string): string {
    const written = text.replace(/^webcals?:/i, 'https:');
    if (!isTargetUrl(written, FEED_SCHEMES)) throw new Refusal('field_invalid', { field });
    const url = new URL(written);
    url.hash = '';
    checkedHost(url, this.#options.allowPrivateTargets, field);
    return url.href;
  }

  /** An address as it is stored, of one calendar alone. @throws Refusal `encryption_locked`, `storage_full`. */
  async seal(name: string, url: string): Promise<Buffer> {
    const { accounts, vault } = this.#options;
    if (!vault.isSet(SECRET)) {
      await accounts.change((draft) => {
        if (!vault.isSet(SECRET, draft)) vault.put(draft, SECRET, randomBytes(KEY_BYTES));
      });
    }
    return seal(this.#key(), KEY_ID, name, Buffer.from(url));
  }

  /** @throws Refusal `encryption_locked`; Error for what was not sealed for that calendar. */
  open(name: string, sealed: Uint8Array): string {
    return unseal(this.#key(), name, sealed).toString('utf8');
  }

  #key(): Uint8Array {
    const key = this.#options.vault.get(SECRET);
    if (key === undefined) throw new Error('The key of the addresses of feeds is not there.');
    return key;
  }
}
