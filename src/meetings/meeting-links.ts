/**
 * Links of meetings: `<meeting>.<number>.<seal>`, where the seal is an HMAC under the installation's key. Nobody guesses
 * one, none is stored, and a participant can be shown the one in force at any time.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { isId } from '#src/base/ids.ts';

export class MeetingLinks {
  readonly #key: Uint8Array;

  /** `key` is a secret of the installation. */
  constructor(key: Uint8Array) {
    this.#key = key;
  }

  make(meeting: string, number: number): string {
    return `${meeting}.${number}.${this.#seal(meeting, number).toString('base64url')}`;
  }

  /** What a link stands for, or undefined when it is none of ours. */
  read(link: string): { readonly meeting: string; readonly number: number } | undefined {
    const [meeting = '', digits = '', text = ''] = link.split('.');
    if (!isId('mtg', meeting) || !/^[1-9]\d{0,8}$/.test(digits)) return undefined;
    const [seal, given] = [this.#seal(meeting, Number(digits)), Buffer.from(text, 'base64url')];
    if (seal.length !== given.length || !timingSafeEqual(seal, given)) return undefined;
    // More than one text decodes to the same bytes; the link is the one that was made.
    return this.make(meeting, Number(digits)) === link ? { meeting, number: Number(digits) } : undefined;
  }

  #seal(meeting: string, number: number): Buffer {
    return createHmac('sha256', this.#key).update(`meeting link\0${meeting}\0${number}`).digest();
  }
}
