/** Where mails are read: on a thread of their own, whatever their size. */
import { fileURLToPath } from 'node:url';
import { Piscina } from 'piscina';
import { Refusal } from '#src/protocol/errors.ts';
import type { MailTask, readMail } from './mail-reader.ts';

/** Mails that wait for the thread; one more is refused with `busy`. Each is in memory whole. */
export const MAILS_WAITING_MAX = 16;
/** The worst mail takes some 100 ms; what takes this long will not end. The thread is stopped. [busy] */
const DEADLINE_MILLIS = 5_000;

type Read = Awaited<ReturnType<typeof readMail>>;

export class MailPool {
  readonly #pool = new Piscina<MailTask, Read>({
    filename: fileURLToPath(new URL('mail-worker.ts', import.meta.url)),
    name: 'read',
    minThreads: 0,
    maxThreads: 1,
    idleTimeout: 30_000,
  });
  #underWay = 0;

  constructor() {
    // A thread that ends by itself fails its task; the event is no news beyond that.
    this.#pool.on('error', () => {});
  }

  /** Reads one mail. @throws Refusal `busy`. */
  async read({ mail, trust }: MailTask): Promise<Read> {
    if (this.#underWay > MAILS_WAITING_MAX) throw new Refusal('busy');
    this.#underWay += 1;
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort(), DEADLINE_MILLIS);
    try {
      // Bytes of its own: of a view the whole buffer behind it would be copied to the thread.
      return await this.#pool.run({ mail: new Uint8Array(mail), trust }, { name: 'read', signal: ending.signal });
    } catch (error) {
      if (!ending.signal.aborted) throw error;
      throw new Refusal('busy');
    } finally {
      clearTimeout(timer);
      this.#underWay -= 1;
    }
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}
