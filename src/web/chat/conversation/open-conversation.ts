/** The conversation that is open: what its parts share. */
import { createContext, useContext, useEffect, useState } from 'react';
import type { ChatConversation, ChatMessage } from '#src/client/conversations/records.ts';
import type { ConversationRights } from '#src/client/conversations/rights.ts';
import type { ParleyClient } from '#src/client/parley-client.ts';
import type { ConversationRight } from '#src/protocol/conversations/rights.ts';
import { useChat } from '../chat-context.ts';
import type { Timeline } from '../state/timeline.ts';

/** What the field under the messages is about, beside a new message. */
export interface Aim {
  readonly kind: 'reply' | 'edit';
  readonly message: ChatMessage;
}

export interface OpenConversation {
  readonly conv: string;
  readonly conversation: ChatConversation;
  readonly timeline: Timeline;
  /** Advice for what to offer; the server decides. */
  readonly may: (right: ConversationRight) => boolean;
  readonly aimAt: (aim: Aim | undefined) => void;
  readonly askToDelete: (message: ChatMessage) => void;
  readonly openThread: (root: number) => void;
  readonly jumpTo: (seq: number) => void;
  /** Says what went wrong, over the messages. */
  readonly complain: (thrown: unknown) => void;
}

export const OpenConversationContext = createContext<OpenConversation | undefined>(undefined);

export function useOpenConversation(): OpenConversation {
  const open = useContext(OpenConversationContext);
  if (open === undefined) throw new Error('This part stands in an open conversation.');
  return open;
}

/** What the person may here, asked again when it may have changed. */
export function useRights(conv: string): (right: ConversationRight) => boolean {
  const { client } = useChat();
  const [rights, setRights] = useState<ConversationRights>();
  useEffect(() => follow(client, conv, setRights), [client, conv]);
  return (right) => rights !== undefined && (!rights.known || rights.granted.has(right));
}

function follow(client: ParleyClient, conv: string, take: (rights: ConversationRights) => void): () => void {
  let isOver = false;
  const ask = () => {
    client.rights(conv).then(
      (rights) => {
        if (!isOver) take(rights);
      },
      // What was offered before stays until an answer comes.
      () => undefined,
    );
  };
  const isHere = (event: { conv?: string }) => event.conv === conv && ask();
  const off = [client.on('membership', isHere), client.on('conversation.updated', isHere), client.on('caught-up', ask)];
  ask();
  return () => {
    isOver = true;
    for (const end of off) end();
  };
}
