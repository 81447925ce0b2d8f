/** How many of the others have read a message, from the watermarks that the client keeps. */
import type { ParleyClient } from '#src/client/parley-client.ts';
import { Observable } from '../../kit/observable.ts';

export class ReadMarks extends Observable {
  readonly #client: ParleyClient;

  constructor(client: ParleyClient) {
    super();
    this.#client = client;
    for (const type of ['receipt', 'watermarks', 'afresh', 'message.new'] as const)
      client.on(type, () => this.changed());
  }

  /** Of the people whose watermarks are known, which in large rooms are the last ones told of. */
  readers(conv: string, seq: number): number {
    const marks = this.#client.conversations.get(conv)?.watermarks ?? new Map<string, { read: number }>();
    let count = 0;
    for (const [user, { read }] of marks) if (user !== this.#client.user && read >= seq) count += 1;
    return count;
  }
}
