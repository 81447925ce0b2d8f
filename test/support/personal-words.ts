/** Words in files however they are written: as they are, percent-encoded, in base64. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Files of a folder and those below that hold one of these words in any of its forms: `path: word`. */
export function filesWith(folder: string, words: readonly string[]): string[] {
  const forms = words.flatMap((word) => formsOf(word).map((form) => [word, form] as const));
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap((entry) => {
      const path = join(entry.parentPath, entry.name);
      const bytes = readFileSync(path);
      const found = forms.filter(([, form]) => bytes.includes(form)).map(([word]) => word);
      return [...new Set(found)].map((word) => `${path.slice(folder.length + 1)}: ${word}`);
    });
}

/** UTF-8, percent-encoded in either case, and base64 from each of the three places at which it may begin. */
export function formsOf(word: string): Buffer[] {
  const percent = encodeURIComponent(word);
  const texts = [word, word.toLowerCase(), percent, percent.replaceAll(/%[\dA-F]{2}/g, (code) => code.toLowerCase())];
  const aligned = [0, 1, 2].map((shift) => {
    const bytes = Buffer.concat([Buffer.alloc(shift), Buffer.from(word)]);
    // The first and the last symbols depend on what stands beside.
    return bytes
      .toString('base64')
      .slice(shift === 0 ? 0 : 4)
      .replace(/=+$/, '')
      .slice(0, -1);
  });
  return [...texts, ...aligned].map((text) => Buffer.from(text));
}
