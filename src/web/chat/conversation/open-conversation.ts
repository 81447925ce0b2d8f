/** The conversation that is open: what its parts share. */
import { createContext, useCallback, useContext, useEffect, useRef, useState } from 'react';
import type { ChatConversation, ChatMessage } from '#src/client/conversations/records.ts';
import type { ConversationRights } from '#src/client/conversations/rights.ts';
import type { ParleyClient } from '#src/client/parley-client.ts';
import type { ConversationRight } from '#src/protocol/conversations/rights.ts';
import { useChat } from '../chat-context.ts';
import type { Pins } from '../state/pins.ts';
import type { Timeline } from '../state/timeline.ts';

/** From when what was kept of a conversation is shown until it is asked what is new of it: to ask takes time of that picture. */
export const FRESHEN_MILLIS = 100;

/** What the field under the messages is about, beside a new message. */
export interface Aim {
  readonly kind: 'reply' | 'edit';
  readonly message: ChatMessage;
}

export interface OpenConversation {
  readonly conv: string;
  readonly conversation: ChatConversation;
  readonly timeline: Timeline;
  readonly pins: Pins;
  readonly aimAt: (aim: Aim | undefined) => void;
  /** Asks where to. */
  readonly forward: (message: ChatMessage) => void;
  readonly openThread: (root: number) => void;
  readonly showPicture: (message: ChatMessage) => void;
  /** Goes to a message; undefined for the newest. */
  readonly jumpTo: (seq: number | undefined) => void;
  /** Says what went wrong, over the messages. */
  readonly complain: (thrown: unknown) => void;
}

export const OpenConversationContext = createContext<OpenConversation | undefined>(undefined);

export function useOpenConversation(): OpenConversation {
  const open = useContext(OpenConversationContext);
  if (open === undefined) throw new Error('This part stands in an open conversation.');
  return open;
}

type May = (right: ConversationRight) => boolean;

/** By itself, so that the messages are not drawn anew when the answer comes. */
export const RightsContext = createContext<May>(() => false);

/** What the person may in the open conversation: advice for what to offer; the server decides. */
export function useMay(): May {
  return useContext(RightsContext);
}

/**
 * The record of the open conversation without what every message changes, its counts: as long as nothing else of it changes, it
 * is the same object, and the messages that are there are not drawn again with each one that comes.
 */
export function useSteadyRecord(conversation: ChatConversation | undefined): ChatConversation | undefined {
  const steady = useRef(conversation);
  if (conversation === undefined || steady.current === undefined) steady.current = conversation;
  else if (!saysTheSame(conversation, steady.current)) steady.current = conversation;
  return steady.current;
}

function saysTheSame(conversation: ChatConversation, before: ChatConversation): boolean {
  const { head_seq, rev } = before;
  const now: Readonly<Record<string, unknown>> = { ...conversation, head_seq, rev };
  const then: Readonly<Record<string, unknown>> = { ...before };
  const keys = new Set([...Object.keys(now), ...Object.keys(then)]);
  return [...keys].every((key) => Object.is(now[key], then[key]));
}

/** What the person may here: as it was last known, and asked again when it may have changed. */
export function useRights(conv: string): May {
  const { client, rooms } = useChat();
  const [rights, setRights] = useState(() => rooms.rightsIn(conv));
  useEffect(() => {
    const take = (answered: ConversationRights) => {
      rooms.keepRights(conv, answered);
      setRights((before) => (before !== undefined && areTheSame(before, answered) ? before : answered));
    };
    return follow(client, conv, take, rooms.rightsIn(conv) === undefined ? 0 : FRESHEN_MILLIS);
  }, [client, conv, rooms]);
  return useCallback((right) => rights !== undefined && (!rights.known || rights.granted.has(right)), [rights]);
}

function areTheSame(one: ConversationRights, other: ConversationRights): boolean {
  if (!one.known || !other.known) return one.known === other.known;
  return one.granted.symmetricDifference(other.granted).size === 0;
}

function follow(
  client: ParleyClient,
  conv: string,
  take: (rights: ConversationRights) => void,
  waitMillis: number,
): () => void {
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
  const timer = waitMillis === 0 ? undefined : setTimeout(ask, waitMillis);
  if (timer === undefined) ask();
  return () => {
    isOver = true;
    clearTimeout(timer);
    for (const end of off) end();
  };
}
