/** A thread of the mail pool: reads what comes from outside away from the thread that everybody's requests go through. */
import { BEHIND_MESSAGES, standBack } from '#src/pool/thread-priority.ts';
import { type MailTask, readMail } from './mail-reader.ts';

standBack(BEHIND_MESSAGES);

/** Reads one mail. */
export async function read(task: MailTask): ReturnType<typeof readMail> {
  return await readMail(task);
}
