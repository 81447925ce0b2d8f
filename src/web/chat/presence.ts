/** Tells the server whether the app is in front of the person, and comes back at once when it is again. */
import { useEffect } from 'react';
import { useChat } from './chat-context.ts';

export function usePresence(): void {
  const { client } = useChat();
  useEffect(() => {
    const tell = () => client.presence(!document.hidden);
    const wake = () => client.wake();
    const turn = () => {
      tell();
      if (!document.hidden) wake();
    };
    tell();
    document.addEventListener('visibilitychange', turn);
    globalThis.addEventListener('online', wake);
    return () => {
      document.removeEventListener('visibilitychange', turn);
      globalThis.removeEventListener('online', wake);
    };
  }, [client]);
}
