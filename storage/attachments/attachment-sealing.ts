/**
 * Seals what lay there before encryption at rest was on: one content after the other, behind whatever else happens.
 * Nothing is remembered of how far it came, since what is left says so itself; a crash leaves a copy that the next start
 * removes. A content that lies in an object store comes back to this disk for it.
 */
import { stat } from 'node:fs/promises';
import type { Attachments } from './attachments.ts';
import { writeSealedCopy } from './blob-contents.ts';
import type { ContentKeys } from './blob-sealing.ts';
import { blobPath, sealedBlobPath } from './blobs.ts';

export interface SealedContents {
  readonly sealed: number;
  /** Contents that are not on disk any more or not as they were, or for whose copy there is no room. */
  readonly left: number;
}

/**
 * Seals every content that is not, while `goesOn`. One that cannot be sealed is passed over. `bringBack` has a content of
 * the object store lie on this disk.
 */
export async function sealContents(
  folder: string,
  attachments: Attachments,
  keys: ContentKeys,
  goesOn: () => boolean,
  bringBack: (name: string) => Promise<void> = async () => await Promise.resolve(),
): Promise<SealedContents> {
  let [sealed, left] = [0, 0];
  let hash = attachments.unsealedAfter('');
  for (; hash !== undefined && goesOn(); hash = attachments.unsealedAfter(hash)) {
    const isSealed = await sealContent(folder, attachments, keys, hash, bringBack);
    if (isSealed) sealed += 1;
    // One that was removed meanwhile is none.
    else if (attachments.usesContent(hash)) left += 1;
  }
  return { sealed, left };
}

async function sealContent(
  folder: string,
  attachments: Attachments,
  keys: ContentKeys,
  hash: string,
  bringBack: (name: string) => Promise<void>,
): Promise<boolean> {
  const path = blobPath(folder, hash);
  try {
    await bringBack(hash);
    const { size } = await stat(path);
    const name = await writeSealedCopy(path, sealedBlobPath(folder, hash), { bytes: size, hash }, keys);
    return await attachments.replaceContent(hash, name);
  } catch {
    return false;
  }
}
