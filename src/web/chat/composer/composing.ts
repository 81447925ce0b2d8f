/** What happens while somebody writes: the draft is kept, others see it, a mention is completed, Enter sends. */
import {
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
  type ClipboardEvent,
  type KeyboardEvent,
  type RefObject,
} from 'react';
import type { ChatMessage } from '#src/client/conversations/records.ts';
import type { Mention } from '#src/protocol/conversations/messages.ts';
import { useObserved } from '../../kit/observable.ts';
import { useChat, type Chat } from '../chat-context.ts';
import { useMay, useOpenConversation, type Aim, type OpenConversation } from '../conversation/open-conversation.ts';
import { formatByKey } from '../formatting/format-field.ts';
import { emojiBefore, mentionBefore, mentionsIn } from './mention-words.ts';

const CANDIDATES_MAX = 8;

/** Somebody to mention, or an emoji of the installation's own by its name. */
export type Candidate =
  | { readonly kind: 'person'; readonly user: string; readonly name: string }
  | { readonly kind: 'emoji'; readonly name: string };

export interface MentionChoice {
  readonly id: string;
  readonly candidates: readonly Candidate[];
  readonly at: number;
  /** The id of the chosen one's element; undefined while there is none. */
  readonly active: string | undefined;
}

export interface Composing {
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly text: string;
  readonly mentions: MentionChoice;
  readonly type: (text: string) => void;
  readonly press: (event: KeyboardEvent<HTMLTextAreaElement>) => void;
  /** The caret moved. */
  readonly look: () => void;
  readonly paste: (event: ClipboardEvent) => void;
  readonly complete: (candidate: Candidate) => void;
  readonly insert: (piece: string) => void;
  readonly send: () => void;
}

export interface ComposingOptions {
  readonly aim: Aim | undefined;
  readonly root: number | undefined;
  readonly onSent: () => void;
}

export function useComposing({ aim, root, onSent }: ComposingOptions): Composing {
  const chat = useChat();
  const open = useOpenConversation();
  const may = useMay();
  const { conv } = open;
  const draft = useDraftText(chat, conv, aim, root);
  const { field, text, setText } = draft;
  const [caret, setCaret] = useState(0);
  const jump = useRef<number>(undefined);
  // Before the next key is heard: whoever types on at once types behind what was put in.
  useLayoutEffect(() => {
    if (jump.current === undefined) return;
    field.current?.setSelectionRange(jump.current, jump.current);
    jump.current = undefined;
  });
  const users = useParticipants(chat, open);
  const choice = useChoice(chat, users, text, caret);
  const type = (next: string) => {
    setText(next);
    setCaret(field.current?.selectionStart ?? next.length);
    if (aim?.kind === 'edit') return;
    if (root === undefined) chat.drafts.write(conv, next);
    if (next !== '') chat.client.typing(conv);
  };
  const replace = (from: number, to: number, piece: string) => {
    type(text.slice(0, from) + piece + text.slice(to));
    jump.current = from + piece.length;
    setCaret(jump.current);
    // What was pressed for it has the focus until it is gone.
    requestAnimationFrame(() => field.current?.focus());
  };
  const complete = (one: Candidate) => replace(choice.from, caret, wordOf(one));
  const send = () => {
    if (text.trim() === '') return;
    const mentions = mentionsIn(text, (user) => users.includes(user), may('mention.all'));
    dispatch({ chat, open, aim, root, text, mentions });
    setText('');
    if (root === undefined && aim?.kind !== 'edit') chat.drafts.sent(conv);
    if (root === undefined) open.aimAt(undefined);
    onSent();
  };
  const press = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    if (choice.candidates.length > 0 && choice.press(event, complete)) return event.preventDefault();
    if (formatByKey(event)) return;
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      send();
    } else if (event.key === 'Escape' && aim !== undefined) open.aimAt(undefined);
    else if (event.key === 'ArrowUp' && text === '' && root === undefined) editLast(chat, open, may);
  };
  return {
    field,
    text,
    mentions: choice,
    type,
    press,
    look: () => setCaret(field.current?.selectionStart ?? 0),
    paste: (event) => {
      const files = [...event.clipboardData.files];
      if (files.length === 0 || root !== undefined) return;
      event.preventDefault();
      chat.uploads.add(conv, files);
    },
    complete,
    insert: (piece) => {
      const { selectionStart: from = text.length, selectionEnd: to = text.length } = field.current ?? {};
      replace(from, to, apart(piece, text.slice(0, from)));
    },
    send,
  };
}

function wordOf(one: Candidate): string {
  return one.kind === 'person' ? `@${one.user} ` : `:${one.name}: `;
}

/** What is put in behind a text: an emoji's name is a word, and right beside another one it would be text. */
function apart(piece: string, before: string): string {
  if (!piece.startsWith(':')) return piece;
  return `${/[\p{L}\p{N}]$/u.test(before) ? ' ' : ''}${piece} `;
}

interface Dispatch {
  readonly chat: Chat;
  readonly open: OpenConversation;
  readonly aim: Aim | undefined;
  readonly root: number | undefined;
  readonly text: string;
  readonly mentions: readonly Mention[];
}

function dispatch({ chat, open: { complain, conv }, aim, root, text, mentions }: Dispatch): void {
  if (aim?.kind === 'edit') {
    chat.client.edit(conv, aim.message.seq, text, [...mentions]).catch(complain);
    return;
  }
  const replyTo = root ?? aim?.message.seq;
  chat.sending.post(conv, {
    kind: 'text',
    body: text,
    ...(mentions.length === 0 ? {} : { mentions: [...mentions] }),
    ...(replyTo === undefined ? {} : { reply_to: replyTo }),
  });
}

/** The arrow up in an empty field takes the last message of one's own up again. */
function editLast({ me }: Chat, { aimAt, timeline }: OpenConversation, may: ReturnType<typeof useMay>): void {
  const isOwnText = ({ deletedAt, kind, sender }: ChatMessage) =>
    sender === me && kind === 'text' && deletedAt === undefined;
  const message = timeline.state.messages.findLast(isOwnText);
  if (message !== undefined && may('message.edit.own')) aimAt({ kind: 'edit', message });
}

/** The text of the field: a draft that is picked up where it was left, or the message that is edited. */
function useDraftText(chat: Chat, conv: string, aim: Aim | undefined, root: number | undefined) {
  const field = useRef<HTMLTextAreaElement>(null);
  const draft = useObserved(chat.drafts, () => (root === undefined ? chat.drafts.textOf(conv) : ''));
  const [text, setText] = useState(draft);
  const edited = aim?.kind === 'edit' ? aim.message : undefined;
  const wasEditing = useRef(false);
  // Whoever takes a message up and types on at once types into it.
  useLayoutEffect(() => {
    if (edited !== undefined) setText(typeof edited.body === 'string' ? edited.body : '');
    else if (wasEditing.current) setText(draft);
    wasEditing.current = edited !== undefined;
    // A touch keyboard that comes up by itself hides half of what one came to read.
    if (aim !== undefined || matchMedia('(hover: hover)').matches) field.current?.focus();
  }, [aim, edited]);
  // Another tab or device wrote there, or sent it.
  useLayoutEffect(() => {
    if (root === undefined && edited === undefined) setText(draft);
  }, [draft]);
  return { field, text, setText };
}

/** Who may be mentioned: the record names few people itself, and of many the first thousand are asked for. */
function useParticipants({ client, me }: Chat, { conv, conversation }: OpenConversation): readonly string[] {
  const [read, setRead] = useState<readonly string[]>([]);
  const named = conversation.participants;
  const count = conversation.participant_count;
  useEffect(() => {
    if (named !== undefined) return;
    client.call('readParticipants', { params: { id: conv }, query: {} }).then(
      ({ items }) => setRead(items.map(({ user }) => user)),
      // Without them a mention is text.
      () => undefined,
    );
  }, [client, conv, count, named]);
  const users = named === undefined ? read : named.map(({ user }) => user);
  return users.filter((user) => user !== me);
}

function peopleFor({ people }: Chat, users: readonly string[], query: string): readonly Candidate[] {
  return users
    .map((user) => ({ kind: 'person' as const, user, name: people.nameOf(user) }))
    .filter(({ name, user }) =>
      [user, ...name.toLocaleLowerCase().split(/\s+/u)].some((word) => word.startsWith(query)),
    );
}

/** Emoji of the installation whose name, or a word of it, begins so. */
function useEmojiCandidates({ customEmojis }: Chat, query: string | undefined): readonly Candidate[] {
  const all = useObserved(customEmojis, () => customEmojis.all);
  const isAsked = query !== undefined;
  useEffect(() => {
    if (isAsked) customEmojis.refresh();
  }, [customEmojis, isAsked]);
  if (query === undefined) return [];
  return [...all.keys()]
    .filter((name) => name.startsWith(query) || name.split(/[_-]/u).some((word) => word.startsWith(query)))
    .map((name) => ({ kind: 'emoji', name }));
}

function useChoice(chat: Chat, users: readonly string[], text: string, caret: number) {
  const id = useId();
  const [chosen, setChosen] = useState(0);
  const [refused, setRefused] = useState('');
  const isOpen = refused !== text;
  const mention = isOpen ? mentionBefore(text, caret) : undefined;
  const emoji = isOpen ? emojiBefore(text, caret) : undefined;
  const emojis = useEmojiCandidates(chat, emoji?.query);
  const named = mention === undefined ? emojis : peopleFor(chat, users, mention.query.toLocaleLowerCase());
  const candidates = named.slice(0, CANDIDATES_MAX);
  const at = Math.min(chosen, Math.max(0, candidates.length - 1));
  /** Answers whether the key was for the list. */
  const press = ({ key }: KeyboardEvent, complete: (candidate: Candidate) => void): boolean => {
    const candidate = candidates[at];
    if ((key === 'Enter' || key === 'Tab') && candidate !== undefined) complete(candidate);
    else if (key === 'ArrowDown') setChosen((at + 1) % candidates.length);
    else if (key === 'ArrowUp') setChosen((at + candidates.length - 1) % candidates.length);
    else if (key === 'Escape') setRefused(text);
    else return false;
    return true;
  };
  const active = candidates.length === 0 ? undefined : `${id}-${at}`;
  return { id, candidates, at, active, press, from: (mention ?? emoji)?.from ?? caret };
}
