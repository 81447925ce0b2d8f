/** The DNS records that a mail domain has to publish: SPF, DMARC, and DKIM with a key that is made at the first read. */
import { createPrivateKey, createPublicKey, generateKeyPair } from 'node:crypto';
import { promisify } from 'node:util';
import type { Clock } from '#src/base/clock.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import type { Vault } from '#storage/vault/vault.ts';
import type { AuditActor } from '#storage/accounts/audit-chain.ts';
import type { Settings } from './settings.ts';

/** RFC 8301 asks for 1,024 at least and 2,048 where possible; longer keys do not fit what some DNS servers take. */
const RSA_BITS = 2_048;

const DKIM_SELECTOR = 'parley';
const SPF = 'v=spf1 mx -all';
const DMARC_POLICY = 'quarantine';

const makeRsa = promisify(generateKeyPair);

export interface DnsRecord {
  readonly name: string;
  readonly type: 'TXT';
  readonly value: string;
}

/** A key that mail is signed with, under the name by which its public part is published. */
export interface DkimKey {
  readonly domain: string;
  readonly selector: string;
  /** PEM. */
  readonly privateKey: string;
}

export interface MailDnsOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly settings: Settings;
  readonly vault: Vault;
}

export class MailDns {
  readonly #options: MailDnsOptions;
  /** One key at a time: making one takes a tenth of a second of a core, beside the main thread. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: MailDnsOptions) {
    this.#options = options;
  }

  /**
   * What to publish for the domain of the settings; empty while none is set. Makes the DKIM key of the domain and its
   * selector when there is none.
   * @throws Refusal `encryption_locked`.
   */
  async records(by: AuditActor): Promise<DnsRecord[]> {
    const mail = this.#options.settings.read('mail');
    if (mail === undefined) return [];
    const { domain, dkim_selector: selector = DKIM_SELECTOR } = mail;
    const key = await this.#inTurn(() => this.#key(domain, selector, by));
    const policy = mail.dmarc_policy ?? DMARC_POLICY;
    const reports = mail.dmarc_reports === undefined ? '' : `; rua=mailto:${mail.dmarc_reports}`;
    return [
      { name: `${selector}._domainkey.${domain}`, type: 'TXT', value: `v=DKIM1; k=rsa; p=${publicPart(key)}` },
      { name: domain, type: 'TXT', value: mail.spf ?? SPF },
      { name: `_dmarc.${domain}`, type: 'TXT', value: `v=DMARC1; p=${policy}${reports}` },
    ];
  }

  /**
   * What mail of the domain is signed with; undefined before the records were read for the first time.
   * @throws Refusal `encryption_locked`.
   */
  signing(): DkimKey | undefined {
    const mail = this.#options.settings.read('mail');
    if (mail === undefined) return undefined;
    const { domain, dkim_selector: selector = DKIM_SELECTOR } = mail;
    const known = this.#options.vault.get(`dkim:${selector}.${domain}`);
    return known === undefined ? undefined : { domain, selector, privateKey: Buffer.from(known).toString('utf8') };
  }

  async #key(domain: string, selector: string, by: AuditActor): Promise<string> {
    const { accounts, clock, vault } = this.#options;
    const name = `dkim:${selector}.${domain}`;
    const known = vault.get(name);
    if (known !== undefined) return Buffer.from(known).toString('utf8');
    const { privateKey } = await makeRsa('rsa', { modulusLength: RSA_BITS });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
    await accounts.change((draft) => {
      vault.put(draft, name, Buffer.from(pem, 'utf8'));
      const entry = { event: 'mail.dkim_key_made', ...by, subject: `mail:${domain}`, details: { selector } };
      draft.audit(clock.now(), entry);
    });
    return pem;
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return await turn;
  }
}

/** The public key as the record has it: its DER in base64. */
function publicPart(pem: string): string {
  const der = createPublicKey(createPrivateKey(pem)).export({ type: 'spki', format: 'der' });
  return (der as Buffer).toString('base64');
}
