/** The secret that seals attachments: made when encryption at rest is on, and told to the threads that need it. */
import { randomBytes } from 'node:crypto';
import type { Accounts } from '#storage/accounts/accounts.ts';
import { ATTACHMENT_SECRET_BYTES, type AttachmentSealing } from '#storage/attachments/blob-sealing.ts';
import type { Vault } from '#storage/vault/vault.ts';
import type { Logger } from '#src/telemetry/logger.ts';

/** The name of the secret in the vault: another data key seals it anew, and the contents stay as they are. */
const SECRET = 'attachments';

export interface AttachmentKeysOptions {
  readonly accounts: Accounts;
  readonly vault: Vault;
  readonly log: Logger;
  /** Hands it to every messaging thread. */
  readonly announce: (sealing: AttachmentSealing) => Promise<void>;
}

export class AttachmentKeys {
  readonly #options: AttachmentKeysOptions;
  #turn: Promise<void> = Promise.resolve();

  constructor(options: AttachmentKeysOptions) {
    this.#options = options;
    options.vault.watch(() => this.#follow());
  }

  /** How attachments are kept now; `locked` too while the secret is still being made. */
  get sealing(): AttachmentSealing {
    const { log, vault } = this.#options;
    if (vault.state !== 'unlocked') return { state: vault.state };
    try {
      const secret = vault.get(SECRET);
      return secret === undefined ? { state: 'locked' } : { state: 'unlocked', secret };
    } catch (error) {
      log.error('the secret of attachments does not open', { error });
      return { state: 'locked' };
    }
  }

  /** Resolves when the threads know of the last change, or are known to be gone. */
  async settle(): Promise<void> {
    await this.#turn;
  }

  #follow(): void {
    const { accounts, announce, log, vault } = this.#options;
    this.#turn = this.#turn.then(async () => {
      try {
        if (vault.state === 'unlocked') {
          await accounts.change((draft) => {
            if (!vault.isSet(SECRET, draft)) vault.put(draft, SECRET, randomBytes(ATTACHMENT_SECRET_BYTES));
          });
        }
        await announce(this.sealing);
      } catch (error) {
        // Attachments stay refused as those of a locked server, until the vault is unlocked again.
        log.error('the secret of attachments could not be made or told', { error });
      }
    });
  }
}
