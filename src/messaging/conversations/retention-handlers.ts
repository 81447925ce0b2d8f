/** Handlers of how long messages are kept, and of taking them away. */
import type { z } from 'zod';
import type * as forms from '#src/protocol/conversations/conversations.ts';
import { askConversation, pathConversation, type Handler } from '../http/caller.ts';

export const putRetention: Handler = (request) => {
  const { seconds } = request.body as z.infer<typeof forms.putRetention>;
  request.service.access.requireMessage(request, pathConversation(request));
  return askConversation(request, { kind: 'retain', seconds });
};

export const purgeMessages: Handler = (request) => {
  const { before_seq: beforeSeq } = request.query as z.infer<typeof forms.purgeQuery>;
  request.service.access.requireMessage(request, pathConversation(request));
  return askConversation(request, { kind: 'purgeBefore', beforeSeq });
};
