/** Handlers of how long messages are kept, and of taking them away. */
import type { z } from 'zod';
import type * as forms from '#src/protocol/conversations/conversations.ts';
import { askConversation, type Handler } from '../http/caller.ts';

export const putRetention: Handler = (call) => {
  const { seconds } = call.body as z.infer<typeof forms.putRetention>;
  return askConversation(call, { kind: 'retain', seconds });
};

export const purgeMessages: Handler = (call) => {
  const { before_seq: beforeSeq } = call.query as z.infer<typeof forms.purgeQuery>;
  return askConversation(call, { kind: 'purgeBefore', beforeSeq });
};
