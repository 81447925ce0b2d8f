/** New messages of the open conversation, said to who listens instead of looking. */
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import type { ChatConversation } from '#src/client/conversations/records.ts';
import { useChat } from '../chat-context.ts';
import { lineOf } from '../conversation-words.ts';

export function useSpokenMessages({ id }: ChatConversation): void {
  const { client, me, people, spoken } = useChat();
  const { t } = useTranslation();
  useEffect(
    () =>
      client.on('message.new', ({ conv, data }) => {
        if (conv !== id || data.sender === me) return;
        const nameOf = (user: string) => people.nameOf(user);
        spoken.say(t('message.spoken', { name: nameOf(data.sender), line: lineOf(data, t, nameOf) }));
      }),
    [client, id, me, people, spoken, t],
  );
}
