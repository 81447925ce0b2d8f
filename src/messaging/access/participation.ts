/** Who takes part in what, as the lanes say it now: for decisions that no actor of a conversation makes. */
import { pairOf } from '#actors/call/call-record.ts';
import { isId } from '#src/base/ids.ts';
import { readMember } from '#storage/conversations/conversation-reader.ts';
import { shareConversation } from '#storage/conversations/inbox-reader.ts';
import type { Lanes } from '#storage/engine/lanes.ts';
import type { Bot } from '../bots/bot-access.ts';

export class Participation {
  readonly #lanes: Lanes;

  constructor(lanes: Lanes) {
    this.#lanes = lanes;
  }

  /** Whether a person takes part in any conversation of a bot's list beside it. */
  sharesListed({ conversations, user: bot }: Bot, user: string): boolean {
    return [...conversations].some((conversation) => {
      const environment = this.#lanes.read(conversation);
      environment.refresh();
      const { tables } = environment;
      return (
        readMember(tables, conversation, bot) !== undefined && readMember(tables, conversation, user) !== undefined
      );
    });
  }

  /** Whether somebody still takes part in what a call belongs to: the room, or a conversation with the other of the pair. */
  takesPart(scope: string, user: string): boolean {
    if (isId('c', scope)) {
      const environment = this.#lanes.read(scope);
      environment.refresh();
      return readMember(environment.tables, scope, user) !== undefined;
    }
    const { environments } = this.#lanes;
    for (const environment of environments) environment.refresh();
    return pairOf(scope).every((other) => other === user || shareConversation(environments, user, other));
  }
}
