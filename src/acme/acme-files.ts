/**
 * What ACME keeps in the data folder, readable by its owner alone and in no backup:
 *
 *     data/acme/account.pem       the key of the account at the authority
 *     data/acme/certificate.pem   the certificate that the listeners show, its chain behind it
 *     data/acme/key.pem           its key
 */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CertificateFiles } from '#src/tls/certificate.ts';

export class AcmeFiles {
  readonly certificate: CertificateFiles;
  readonly #folder: string;

  constructor(dataFolder: string) {
    this.#folder = join(dataFolder, 'acme');
    const at = (name: string) => join(this.#folder, name);
    this.certificate = { chain: at('certificate.pem'), key: at('key.pem'), passphrase: undefined };
  }

  /** The account's key, made at the first call. */
  async accountKey(): Promise<KeyObject> {
    const path = join(this.#folder, 'account.pem');
    try {
      return createPrivateKey(await readFile(path, 'utf8'));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      await this.#write(path, privateKey.export({ type: 'pkcs8', format: 'pem' }) as string);
      return privateKey;
    }
  }

  /** Takes the place of the one before: the key first, so that no file is ever half written. */
  async keep(chain: string, key: string): Promise<void> {
    await this.#write(this.certificate.key, key);
    await this.#write(this.certificate.chain, chain);
  }

  async #write(path: string, text: string): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await writeFile(`${path}.new`, text, { mode: 0o600, flush: true });
    await rename(`${path}.new`, path);
  }
}
