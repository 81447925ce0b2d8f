/** Where mails are read: on a thread of their own, whatever their size. */
import { WorkerPool } from '#src/pool/worker-pool.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { MailTask, readMail } from './mail-reader.ts';

/** Mails that wait for the thread; one more is refused with `busy`. Each is in memory whole. */
export const MAILS_WAITING_MAX = 16;
/** The worst mail takes some 100 ms; what takes this long will not end. The thread is stopped. [busy] */
const DEADLINE_MILLIS = 5_000;

type Read = Awaited<ReturnType<typeof readMail>>;

export class MailPool {
  readonly #pool = new WorkerPool<MailTask, Read>({
    worker: new URL('mail-worker.ts', import.meta.url),
    task: 'read',
    threads: 1,
    waitingMax: MAILS_WAITING_MAX,
    deadlineMillis: DEADLINE_MILLIS,
    refusal: () => new Refusal('busy'),
  });

  /** Reads one mail. @throws Refusal `busy`. */
  async read({ mail, trust }: MailTask): Promise<Read> {
    // Bytes of its own: of a view the whole buffer behind it would be copied to the thread.
    return await this.#pool.run({ mail: new Uint8Array(mail), trust });
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }
}
