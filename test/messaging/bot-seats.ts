/** Bots in rooms: what tests of them do all the time. */
import assert from 'node:assert/strict';
import type { BotScope } from '#src/protocol/bots/bot-scopes.ts';
import { makeBot, type TestBot } from '#test/support/bots.ts';
import type { ConsoleServer } from '#test/support/console.ts';
import type { Person } from '#test/support/server.ts';
import { start } from './conversing.ts';

export class BotSeats {
  readonly #running: ConsoleServer;
  readonly #owner: Person;

  /** Rooms belong to `owner`, and `bob` is in them. */
  constructor(running: ConsoleServer, owner: Person) {
    this.#running = running;
    this.#owner = owner;
  }

  /** A room, and the bot in it if there is one. */
  async roomWith(bot?: TestBot): Promise<string> {
    const room = await start(this.#running.server, this.#owner, 'room', ['bob'], 'Room');
    if (bot !== undefined) await this.#join(bot, room.id);
    return room.id;
  }

  /** Has these conversations in the bot's list. */
  async list(bot: TestBot, conversations: readonly string[]): Promise<void> {
    await this.#change(bot, { conversations });
  }

  async scope(bot: TestBot, scopes: readonly BotScope[]): Promise<void> {
    await this.#change(bot, { scopes });
  }

  /** A bot with these scopes in a room of its own. */
  async seated(name: string, scopes: readonly BotScope[]): Promise<{ bot: TestBot; room: string }> {
    const bot = await makeBot(this.#running, name, scopes, []);
    const room = await this.roomWith(bot);
    await this.list(bot, [room]);
    return { bot, room };
  }

  async #join(bot: TestBot, room: string): Promise<void> {
    const path = `/v1/conversations/${room}/participants`;
    const added = await this.#running.server.api(this.#owner, 'POST', path, { participants: [bot.username] });
    assert.equal(added.status, 200, added.text);
  }

  async #change(bot: TestBot, change: object): Promise<void> {
    const changed = await this.#running.console('PATCH', `/bots/${bot.id}`, change);
    assert.equal(changed.status, 200, changed.text);
  }
}
