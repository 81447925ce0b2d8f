import { PageFile } from '#storage/engine/page-file.ts';

/** Bytes of an LMDB file up to its last page in use; behind it lies what the file has for the next commits. */
export function usedBytesOf(path: string): number {
  const file = new PageFile(path);
  file.close();
  return (file.head.lastPage + 1) * file.head.pageBytes;
}
