/** What components of React import from `parley-client/react`. */
export {
  ParleyProvider,
  useConversation,
  useConversations,
  useIsConnected,
  useParley,
  usePersonName,
} from '../react/hooks.ts';
export type { OpenConversation } from '../react/hooks.ts';
