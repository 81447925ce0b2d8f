/** Conversations: to be filled. */
import type { ParleyClient } from '#src/client/parley-client.ts';

export function ChatApplication({ client, onSignOut }: { readonly client: ParleyClient; readonly onSignOut: () => void }) {
  return <button onClick={onSignOut}>{client.user}</button>;
}
