/** Tells the server whether the app is in front of the person, and comes back at once when it is again. */
import { useEffect } from 'react';
import { useChat } from './chat-context.ts';

export function usePresence(): void {
  const { client } = useChat();
  useEffect(() => {
    const tell = () => {
      client.presence(!document.hidden);
      if (!document.hidden) client.wake();
    };
    const wake = () => client.wake();
    tell();
    document.addEventListener('visibilitychange', tell);
    globalThis.addEventListener('online', wake);
    return () => {
      document.removeEventListener('visibilitychange', tell);
      globalThis.removeEventListener('online', wake);
    };
  }, [client]);
}
