/** Erasures that holds stop, under kills: nothing goes while the hold stands, and everything does once its end was acknowledged. */
import { setTimeout as pause } from 'node:timers/promises';
import { post } from '#test/messaging/conversing.ts';
import { consoleOf } from '#test/support/console.ts';
import type { TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { accepted, type PartOptions } from './part.ts';

const ERASED = Array.from({ length: 6 }, (_, at) => `gone-${at}`);
/** Between the ends of two holds, so that a life sees one or some. */
const BREATH_MILLIS_MAX = 400;

/** Somebody who was erased while the only conversation that they spoke in was held. */
interface Stopped {
  readonly erasure: string;
  readonly conversation: string;
  readonly word: string;
  /** `asked` is on its way to `off`. */
  hold: 'on' | 'asked' | 'off';
}

export class HeldErasures {
  readonly #options: PartOptions;
  #stopped: Stopped[] = [];
  #finished = 0;

  constructor(options: PartOptions) {
    this.#options = options;
  }

  /** Erasures that were finished behind their holds. */
  get finished(): number {
    return this.#finished;
  }

  async settle(server: TestServer): Promise<void> {
    const console = consoleOf(server, this.#options.ownerToken);
    for (const name of ERASED) {
      const person = await server.person(name);
      const form = { kind: 'room', participants: [] };
      const { body } = await server.api<{ id: string }>(person, 'POST', '/v1/conversations', form);
      const word = `said by ${name} in a held room`;
      await post(server, person, body.id, { kind: 'text', body: word });
      await console('PUT', `/conversations/${body.id}/hold`, { held: true });
      const begun = await console<{ id: string }>('POST', `/users/${name}/erase`);
      if (begun.status !== 202) throw new Error(`Erasing ${name} was refused: ${begun.text}`);
      this.#stopped.push({ erasure: begun.body.id, conversation: body.id, word, hold: 'on' });
    }
  }

  /** Ends one hold after the other, until the server is gone. */
  async traffic(server: TestServer): Promise<void> {
    const random = this.#options.random.fork();
    for (const one of this.#stopped) {
      await pause(random.whole(0, BREATH_MILLIS_MAX));
      one.hold = 'asked';
      if (!(await this.#end(server, one))) return;
    }
  }

  /** Answers the words that are nowhere any more. */
  async verify(server: TestServer, isLast: boolean): Promise<string[]> {
    const { lose } = this.#options;
    for (const one of this.#stopped) {
      if (one.hold === 'on') await this.#compare(server, one);
      if (one.hold === 'asked' || (isLast && one.hold === 'on')) await this.#end(server, one);
    }
    const released = this.#stopped.filter(({ hold }) => hold === 'off');
    const console = consoleOf(server, this.#options.ownerToken);
    for (const { conversation, erasure } of released) {
      const isDone = async () => (await console('GET', `/erasures/${erasure}`)).body['state'] === 'done';
      await until(isDone, 'the erasure to be finished').catch(() =>
        lose(`The hold of ${conversation} is over, and the erasure ${erasure} is not finished.`),
      );
    }
    this.#stopped = this.#stopped.filter(({ hold }) => hold !== 'off');
    this.#finished += released.length;
    return released.map(({ word }) => word);
  }

  async #end(server: TestServer, one: Stopped): Promise<boolean> {
    const console = consoleOf(server, this.#options.ownerToken);
    const path = `/conversations/${one.conversation}/hold`;
    const reply = await accepted(console('PUT', path, { held: false }), this.#options.lose);
    if (reply !== undefined) one.hold = 'off';
    return reply !== undefined;
  }

  async #compare(server: TestServer, { conversation, word }: Stopped): Promise<void> {
    const url = `${server.coordinator}/admin/api/message-export?conversation=${conversation}`;
    const response = await fetch(url, { headers: { 'x-admin-token': this.#options.ownerToken } });
    if (!(await response.text()).includes(word)) this.#options.lose(`An erasure took what ${conversation} holds.`);
  }
}
