/** What conversations and messages are called in lists: names, one line of a message, times. */
import { useMemo } from 'react';
import type { ChatConversation, ChatMessage } from '#src/client/conversations/records.ts';
import type { Mention } from '#src/protocol/conversations/messages.ts';
import { harmlessName, harmlessText } from '../kit/harmless-text.ts';
import { currentLocale, type Words } from '../kit/language.ts';
import { useObserved } from '../kit/observable.ts';
import { useChat, type Chat } from './chat-context.ts';
import { fillPlaces, withPlaces } from './message/mention-places.ts';
import { plainLine } from './message/plain-line.ts';

/** As much of a message as a line of the list can show. */
const PREVIEW_LENGTH = 160;

/** Whom a direct chat is with. */
export function peerOf(chat: Chat, { kind, participants }: ChatConversation): string | undefined {
  if (kind === 'room') return undefined;
  return (participants?.find(({ user }) => user !== chat.me) ?? participants?.[0])?.user;
}

export function titleOf(chat: Chat, conversation: ChatConversation, t: Words): string {
  const peer = peerOf(chat, conversation);
  if (peer !== undefined) return chat.people.nameOf(peer);
  return harmlessName(conversation.title ?? '', t('list.untitled'));
}

/** The title, as it is now and as it becomes. */
export function useTitle(conversation: ChatConversation, t: Words): string {
  const chat = useChat();
  return useObserved(chat.people, () => titleOf(chat, conversation, t));
}

export interface FileBody {
  readonly attachment: string;
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly width?: number;
  readonly height?: number;
  readonly caption?: string;
  readonly alt?: string;
}

/** What a media message holds; undefined for other kinds. */
export function fileOf(message: Pick<ChatMessage, 'kind' | 'body'>): FileBody | undefined {
  return message.kind === 'media' ? (message.body as unknown as FileBody) : undefined;
}

/** Whether a file is a picture whose size is known, so that it has a place before it is there. */
export function isPicture(file: FileBody | undefined): boolean {
  return file?.type.startsWith('image/') === true && file.width !== undefined && file.height !== undefined;
}

/** What came of a call, as its message says. */
export interface CallOutcome {
  readonly result: 'completed' | 'missed' | 'declined' | 'busy' | 'cancelled' | 'failed';
  /** In seconds. */
  readonly duration: number;
}

/** The outcome that a message of a call has; undefined for other kinds. */
export function outcomeOf({ body, kind }: Pick<ChatMessage, 'kind' | 'body'>): CallOutcome | undefined {
  if (kind !== 'call' && kind !== 'system') return undefined;
  return (body as { outcome?: CallOutcome } | undefined)?.outcome;
}

/** Seconds as a clock shows them. */
export function clockOf(seconds: number): string {
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, Math.floor(seconds) % 60];
  const shown = parts[0] === 0 ? parts.slice(1) : parts;
  return shown.map((part, index) => (index === 0 ? String(part) : String(part).padStart(2, '0'))).join(':');
}

/** What a call is called in the history, from both sides. */
export function callLineOf({ duration, result }: CallOutcome, t: Words): string {
  if (result === 'completed') return t('callLine.completed', { duration: clockOf(duration) });
  return t(result === 'declined' || result === 'failed' ? `callLine.${result}` : 'callLine.unanswered');
}

/** One line of a message; people who are mentioned are called as `nameOf` says. */
export function lineOf(message: ChatMessage, t: Words, nameOf: (user: string) => string): string {
  if (message.deletedAt !== undefined) return t('message.deleted');
  const file = fileOf(message);
  if (file !== undefined) return file.caption ?? harmlessName(file.name);
  if (typeof message.body === 'string') return textLineOf(message.body, message.mentions ?? [], nameOf);
  const outcome = outcomeOf(message);
  return outcome === undefined ? t(`kind.${message.kind}`) : callLineOf(outcome, t);
}

function textLineOf(body: string, mentions: readonly Mention[], nameOf: (user: string) => string): string {
  const text = body.slice(0, PREVIEW_LENGTH);
  const whole = mentions.filter(({ offset, length }) => offset + length <= text.length);
  const line = plainLine(harmlessText(withPlaces(text, whole)));
  return fillPlaces(line, whole, (mention) => `@${'all' in mention ? 'all' : nameOf(mention.username)}`);
}

/** One line of a message, as it is now and as it becomes when somebody's name is known; empty without a message. */
export function useLine(message: ChatMessage | undefined, t: Words): string {
  const { people } = useChat();
  const mentioned = message?.mentions?.flatMap((one) => ('all' in one ? [] : [one.username])) ?? [];
  // The line is read anew with the names alone: people come and go all the time.
  const names = useObserved(people, () => mentioned.map((user) => people.nameOf(user)).join('\n'));
  return useMemo(
    () => (message === undefined ? '' : lineOf(message, t, (user) => people.nameOf(user))),
    [message, names, people, t],
  );
}

const DAY_MILLIS = 86_400_000;

const WEEKDAY: Intl.DateTimeFormatOptions = { weekday: 'short' };
const DATE: Intl.DateTimeFormatOptions = { day: 'numeric', month: 'short' };
const TIME: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit' };
const DAY: Intl.DateTimeFormatOptions = { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' };
const MOMENT: Intl.DateTimeFormatOptions = { dateStyle: 'medium', timeStyle: 'short' };

/** To make one takes as long as to draw a message, and each message says its time. They are of one locale. */
const formats = new Map<Intl.DateTimeFormatOptions, Intl.DateTimeFormat>();
let localeOfFormats = '';

function format(at: number, options: Intl.DateTimeFormatOptions): string {
  const locale = currentLocale();
  if (locale !== localeOfFormats) formats.clear();
  localeOfFormats = locale;
  let made = formats.get(options);
  if (made === undefined) {
    made = new Intl.DateTimeFormat(locale, options);
    formats.set(options, made);
  }
  return made.format(at);
}

/** The time today, the weekday within a week, the date before that. */
export function shortTime(at: number, now = Date.now()): string {
  const isToday = new Date(at).toDateString() === new Date(now).toDateString();
  if (isToday) return timeOf(at);
  return format(at, now - at < 6 * DAY_MILLIS ? WEEKDAY : DATE);
}

export function timeOf(at: number): string {
  return format(at, TIME);
}

export function dayOf(at: number): string {
  return format(at, DAY);
}

export function momentOf(at: number): string {
  return format(at, MOMENT);
}

/** Bytes as people read them. */
export function sizeOf(bytes: number): string {
  const units = ['byte', 'kilobyte', 'megabyte', 'gigabyte'];
  const step = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  const options = {
    style: 'unit',
    unit: units[step] as string,
    unitDisplay: step === 0 ? 'long' : 'short',
    maximumFractionDigits: 1,
  } as const;
  return new Intl.NumberFormat(currentLocale(), options).format(bytes / 1000 ** step);
}
