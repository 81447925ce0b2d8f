/** What is posted: texts of one length, told apart by a number, so that a lost or doubled one shows. */
import { createHash } from 'node:crypto';

/** With its envelope an event is then some 300 bytes long: a sentence of chat. */
const SENTENCE = 'see you at the station at half past';

/** The text of post `number`; always of one length. */
export function textOf(number: number): string {
  return `${SENTENCE} ${String(number).padStart(8, '0')}`;
}

/** The number in a text that `textOf` made, or -1. */
export function numberOf(text: string): number {
  return text.startsWith(SENTENCE) ? Number(text.slice(-8)) : -1;
}

/** The JSON body of a post. `run` keeps the ids of one server's rounds apart. */
export function postBody(run: string, number: number): string {
  return `{"kind":"text","body":"${textOf(number)}","client_msg_id":"${run}-${String(number).padStart(8, '0')}"}`;
}

/** A hash of a set of post numbers, whatever their order. Two servers that deliver the same have the same. */
export function hashOf(numbers: Iterable<number>): string {
  const hash = createHash('sha256');
  for (const number of [...numbers].toSorted((a, b) => a - b)) hash.update(`${textOf(number)}\n`);
  return hash.digest('hex').slice(0, 16);
}
