/** What a call is called: the other person, or the room. */
import { useTranslation } from 'react-i18next';
import type { Call } from '#src/client/calling/call.ts';
import type { ChatConversation } from '#src/client/conversations/records.ts';
import { useChat } from '../chat/chat-context.ts';
import { titleOf } from '../chat/conversation-words.ts';
import { currentLocale } from '../kit/language.ts';
import { useObserved } from '../kit/observable.ts';

/** The conversation that a call belongs to; undefined where it is addressed to a person, or not known yet. */
export function useCallConversation(call: Call): ChatConversation | undefined {
  const { inbox } = useChat();
  return useObserved(inbox, () => inbox.rowOf(call.to))?.conversation;
}

/** The name of the call: of the room, or of the one whom it is with. */
export function useCallName(call: Call): string {
  const { t } = useTranslation();
  const chat = useChat();
  const conversation = useCallConversation(call);
  return useObserved(chat.people, () => {
    if (conversation !== undefined) return titleOf(chat, conversation, t);
    const [other] = call.participants;
    return chat.people.nameOf(other?.user ?? (call.to.startsWith('c_') ? call.host : call.to));
  });
}

/** Bits a second as people read them. */
export function rateOf(bits: number): string {
  const options = {
    style: 'unit',
    unit: bits < 1e6 ? 'kilobit-per-second' : 'megabit-per-second',
    maximumFractionDigits: 1,
  } as const;
  return new Intl.NumberFormat(currentLocale(), options).format(bits / (bits < 1e6 ? 1e3 : 1e6));
}

export function percentOf(part: number): string {
  return new Intl.NumberFormat(currentLocale(), { style: 'percent', maximumFractionDigits: 1 }).format(part);
}
