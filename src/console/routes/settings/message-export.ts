/** The export of a conversation's messages: clear data, for owners alone. */
import { z } from 'zod';
import type { MessageExport } from '#src/compliance/message-export.ts';
import { conversationId } from '#src/protocol/names.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

const instant = z.string().min(1).max(40).optional();

export const messageExportRoutes = {
  exportMessages: consoleRoute.get(
    '/message-export',
    'The messages of a conversation as application/x-ndjson. An export without a line “end” is not whole.',
    {
      access: 'access:write',
      vendor: 'closed',
      audit: 'message_export.started',
      query: z.strictObject({
        conversation: conversationId,
        /** RFC 3339: the first instant that counts, and the first that does not count any more. */ from: instant,
        to: instant,
      }),
      isStream: true,
      replies: { 200: null },
      errors: ['conversation_forbidden'],
    },
  ),
} as const satisfies Record<string, ConsoleRoute>;

export function makeMessageExportPage({ messageExport }: { readonly messageExport: MessageExport }): ConsolePage {
  return page(messageExportRoutes, {
    exportMessages: async ({ by, query }) => ({
      status: 200,
      stream: await messageExport.start(query, by),
    }),
  });
}
