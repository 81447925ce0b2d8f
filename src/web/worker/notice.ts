/** What a push is shown as. Its payload has ids, and words only where the operator lets them: the rest is asked of the server. */
import { isRecord } from '#src/client/conversations/records.ts';
import { harmlessName, harmlessText } from '../kit/harmless-text.ts';
import { plainLine } from '../chat/message/plain-line.ts';
import { conversationTag } from './notice-tag.ts';
import type { NoticeWords } from './words.ts';

/** A notification shows some two lines; the rest is in the conversation. */
const TEXT_SHOWN_MAX = 240;

export interface Notice {
  readonly title: string;
  readonly body: string;
  /** A later one of the same tag takes its place. */
  readonly tag: string;
  /** Where pressing it leads, from the `#` on. */
  readonly place: string;
  /** Stays until it is answered, as a call that rings. */
  readonly stays: boolean;
}

/** Asks the server as the person; undefined where it does not answer, null where it says no, or nobody is signed in. */
export type Ask = (service: 'coordinator' | 'messaging', path: string) => Promise<unknown>;

/** What of a payload is shown where nobody is signed in, or somebody else is: no words, and nobody’s name. */
const NAMELESS = ['conversation_id', 'seq', 'reminder_id', 'late', 'invitation'] as const;

/** A payload without what it says of people: that something came, and of which kind. */
export function namelessOf(payload: unknown): Readonly<Record<string, unknown>> {
  const data = isRecord(payload) ? payload : {};
  return Object.fromEntries(NAMELESS.flatMap((name) => (Object.hasOwn(data, name) ? [[name, data[name]]] : [])));
}

/** Nobody asks anything. */
export const askedByNobody: Ask = async () => null;

/** What to show for a payload, whatever became of asking. */
export async function noticeOf(payload: unknown, ask: Ask, words: NoticeWords): Promise<Notice> {
  const data = isRecord(payload) ? payload : {};
  const text = typeof data['text'] === 'string' ? harmlessText(data['text']) : '';
  if (typeof data['call'] === 'string') return await callNotice(data, data['call'], ask, words);
  if (typeof data['reminder_id'] === 'string') return reminderNotice(data, data['reminder_id'], text, words);
  if (typeof data['invitation'] === 'string') {
    const tag = `parley.invitation ${data['invitation']}`;
    return { title: words('notice.invitation'), body: text, tag, place: '#/', stays: false };
  }
  if (typeof data['conversation_id'] === 'string' && Number.isSafeInteger(data['seq'])) {
    return await messageNotice(data['conversation_id'], Number(data['seq']), text, ask, words);
  }
  return { title: words('notice.other'), body: text, tag: 'parley.other', place: '#/', stays: false };
}

async function messageNotice(
  conversation: string,
  seq: number,
  text: string,
  ask: Ask,
  words: NoticeWords,
): Promise<Notice> {
  const path = `/v1/conversations/${encodeURIComponent(conversation)}`;
  const [record, message] = await Promise.all([ask('messaging', path), ask('messaging', `${path}/messages/${seq}`)]);
  const place = `#/c/${encodeURIComponent(conversation)}?at=${seq}`;
  const shown = { tag: conversationTag(conversation), place, stays: false };
  if (!isRecord(record) || !isRecord(message) || typeof message['sender'] !== 'string') {
    // Who may not read it is somebody else than whom it was sent to.
    const isOthers = record === null || message === null;
    return { title: words('notice.message'), body: isOthers ? '' : text, ...shown };
  }
  const name = await nameOf(message['sender'], ask);
  const line = lineOf(message, words);
  if (record['kind'] !== 'room') return { title: name, body: line, ...shown };
  const title = harmlessName(typeof record['title'] === 'string' ? record['title'] : '', words('notice.room'));
  return { title, body: `${name}: ${line}`, ...shown };
}

function lineOf({ body, kind }: Readonly<Record<string, unknown>>, words: NoticeWords): string {
  if (typeof body === 'string') return plainLine(harmlessText(body.slice(0, TEXT_SHOWN_MAX)));
  if (kind === 'media' && isRecord(body)) {
    if (typeof body['caption'] === 'string') return harmlessText(body['caption']).slice(0, TEXT_SHOWN_MAX);
    return words('notice.file', harmlessName(typeof body['name'] === 'string' ? body['name'] : ''));
  }
  return words(kind === 'location' || kind === 'contact' ? `notice.${kind}` : 'notice.message');
}

async function callNotice(
  data: Readonly<Record<string, unknown>>,
  call: string,
  ask: Ask,
  words: NoticeWords,
): Promise<Notice> {
  const { conversation_id: conversation, from, video } = data;
  const place = typeof conversation === 'string' ? `#/c/${encodeURIComponent(conversation)}` : '#/';
  const shown = { tag: `parley.call ${call}`, place };
  if (data['cancelled'] === true) return { title: words('notice.callOver'), body: '', stays: false, ...shown };
  const name = await nameOf(typeof from === 'string' ? from : '', ask);
  return { title: words(video === true ? 'notice.video' : 'notice.call', name), body: '', stays: true, ...shown };
}

function reminderNotice(
  data: Readonly<Record<string, unknown>>,
  reminder: string,
  text: string,
  words: NoticeWords,
): Notice {
  const named = (['calendar', 'entry', 'occurrence'] as const).flatMap((name) => {
    const value = data[name === 'occurrence' ? 'recurrence_id' : `${name}_id`];
    return typeof value === 'string' ? [[name, JSON.stringify(value)]] : [];
  });
  // The router of the app reads the words of an address as JSON.
  const place = `#/calendar?${new URLSearchParams(named)}`;
  const title = words(data['late'] === true ? 'notice.reminderLate' : 'notice.reminder');
  return { title, body: text, tag: `parley.reminder ${reminder}`, place, stays: false };
}

/** What somebody is called; their username as long as nothing else is known. */
async function nameOf(user: string, ask: Ask): Promise<string> {
  const page = await ask('coordinator', `/v1/directory?users=${encodeURIComponent(user)}`);
  const [entry] = isRecord(page) && Array.isArray(page['items']) ? (page['items'] as unknown[]) : [];
  const name = isRecord(entry) && typeof entry['display_name'] === 'string' ? entry['display_name'] : user;
  return harmlessName(name);
}
