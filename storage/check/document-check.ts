/**
 * Checks the documents of the accounts file: that each can be read, whatever its noun, and that the secrets of the
 * vault agree with its key ring. No key is needed for that, so nothing is said about what a sealed secret holds.
 */
import { Unpackr } from 'msgpackr';
import { DOCUMENT_ID, type AccountTables } from '../accounts/accounts-reader.ts';
import { documentKey, type Collection } from '../accounts/collections.ts';
import type { Findings } from '../engine/findings.ts';
import { RING, vaultKeys, type KeyRing } from '../vault/key-ring.ts';
import { sealedUnder } from '../vault/sealing.ts';
import { vaultSecrets } from '../vault/vault-secrets.ts';

const unpackr = new Unpackr({ useRecords: false });

/** Looks for problems in all collections. */
export function checkDocuments({ documents }: Pick<AccountTables, 'documents'>, findings: Findings): void {
  const ring = readDocument(documents, findings, vaultKeys, RING);
  for (const { key: itemKey, value } of documents.getRange()) {
    const [name = '', id = '', ...rest] = itemKey.toString('utf8').split('\0');
    if (name === '' || !DOCUMENT_ID.test(id) || rest.length > 0) {
      findings.add('documents', [name, id, ...rest], 'has a key that no document has');
      continue;
    }
    if (name === vaultKeys.name && id === RING) continue;
    if (name === vaultSecrets.name) checkSecret(documents, findings, ring, id);
    else {
      findings.attempt('documents', [name, id], () => {
        if ((value[0] ?? 0) === 0) throw new Error('no version');
        unpackr.unpack(value.subarray(1));
      });
    }
  }
}

function checkSecret(
  documents: AccountTables['documents'],
  findings: Findings,
  ring: KeyRing | undefined,
  name: string,
): void {
  const stored = readDocument(documents, findings, vaultSecrets, name);
  if (stored === undefined) return;
  const say = (predicate: string): void => findings.add('documents', [vaultSecrets.name, name], predicate);
  if (!stored.sealed) {
    if (ring?.isSealing === false) say('is not sealed, and encryption at rest is on');
    return;
  }
  const keyId = sealedUnder(stored.value);
  if (keyId === undefined) say('is marked as sealed and is not');
  else if (ring?.keys.some(({ id }) => id === keyId) !== true)
    say(`is sealed under the key ${keyId}, which is not there`);
}

function readDocument<T>(
  documents: AccountTables['documents'],
  findings: Findings,
  collection: Collection<T>,
  id: string,
): T | undefined {
  const value = documents.get(documentKey(collection, id));
  if (value === undefined) return undefined;
  return findings.attempt('documents', [collection.name, id], () => collection.decode(value));
}
