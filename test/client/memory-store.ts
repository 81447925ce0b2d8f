/** A store of conversations that keeps what a browser's would, as structured clones. */
import type { ConversationStore, KeptChanges, KeptState } from '#src/client/conversations/kept-conversations.ts';
import type { KeptMirror } from '#src/client/conversations/conversation-mirror.ts';

export class MemoryStore implements ConversationStore {
  readonly mirrors = new Map<string, KeptMirror>();
  sync: string | undefined;
  saves = 0;
  /** What the next save fails with. */
  fault: Error | undefined;
  isCleared = false;

  async load(): Promise<KeptState | undefined> {
    this.isCleared = false;
    return this.sync === undefined ? undefined : { sync: this.sync, mirrors: [...this.mirrors.values()] };
  }

  async save({ changed, gone, isWhole, sync }: KeptChanges): Promise<boolean> {
    if (this.fault !== undefined) throw this.fault;
    if (this.isCleared) return false;
    if (isWhole) this.mirrors.clear();
    for (const mirror of changed) this.mirrors.set(mirror.record.id, structuredClone(mirror));
    for (const conv of gone) this.mirrors.delete(conv);
    this.sync = sync;
    this.saves += 1;
    return true;
  }

  async clear(): Promise<void> {
    this.mirrors.clear();
    this.sync = undefined;
    this.isCleared = true;
  }
}
