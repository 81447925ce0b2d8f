/** What a bot has not sent yet, in a file: a restart sends it, under the ids it had. For Node, Bun and Deno. */
import { readFile, rename, writeFile } from 'node:fs/promises';
import type { OutboxEntry, OutboxStore } from '../conversations/outbox.ts';

/**
 * A store for `ClientOptions.store`, of one process at a time. Each state replaces the one before whole, so that a crash leaves one
 * of the two. It holds texts of messages: readable by its owner alone.
 */
export function outboxFile(path: string): OutboxStore {
  return {
    load: async () => {
      try {
        return JSON.parse(await readFile(path, 'utf8')) as unknown;
      } catch (error) {
        if ((error as { code?: string }).code === 'ENOENT') return [];
        throw error;
      }
    },
    save: async (entries: readonly OutboxEntry[]) => {
      await writeFile(`${path}.new`, JSON.stringify(entries), { mode: 0o600, flush: true });
      await rename(`${path}.new`, path);
    },
  };
}
