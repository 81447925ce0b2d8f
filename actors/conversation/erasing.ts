/**
 * Erasing a person from a conversation, a step at a time: their messages become stubs, which keep seq, sender and
 * times, and their reactions, draft and receipts go. Doing a step again changes nothing.
 */
import type { Message } from '#src/protocol/conversations/messages.ts';
import { removeKey } from '#storage/conversations/conversation-writes.ts';
import { key, lastPart, numbered } from '#storage/engine/keys.ts';
import type { LaneWrite } from '#storage/engine/lane.ts';
import { indexedUpTo, POSTED_BLOCK } from '#storage/conversations/posted-blocks.ts';
import { messageRecord, MESSAGE_FLAGS, senderCounts, type ConversationRecord } from '#storage/engine/records.ts';
import { isOnHold } from '#storage/conversations/retention.ts';
import { refuse, type Effect } from '../runtime/actor.ts';
import type { ConversationMessage } from './conversation.messages.ts';
import type { ConversationState } from './conversation.state.ts';
import { eraseInvitations } from './inviting.ts';
import { removeLinksBy } from './linking-in.ts';
import { react } from './reactions-and-pins.ts';
import { emptyMessage } from './posting.ts';

/** Blocks of messages that one step goes over: some milliseconds where all of them are the person's. */
const ERASED_BLOCKS = 4;
const SERVER = { role: 'owner', joinedSeq: 0 } as const;

/** How a step went. */
export interface ErasureStep {
  /** Where the next step begins; null at the end. */
  readonly next: number | null;
  readonly messages: number;
  /** Of what the messages said. */
  readonly bytes: number;
  /** Under a legal hold nothing goes. */
  readonly isHeld: boolean;
}

export function erase(
  state: ConversationState,
  { user, afterSeq }: Extract<ConversationMessage, { kind: 'erase' }>,
  now: number,
): readonly Effect[] {
  const { living: record } = state;
  if (record === undefined) return refuse('conversation_forbidden');
  if (isOnHold(record)) return [answer({ next: null, messages: 0, bytes: 0, isHeld: true })];
  const from = Math.max(afterSeq, state.floorSeq);
  const to = Math.min(record.headSeq, (Math.floor(from / POSTED_BLOCK) + ERASED_BLOCKS) * POSTED_BLOCK);
  const emptied = emptyMessages(state, record, user, from, to, now);
  const { effects: taken, isMore } = takeReactions(state, record, user, from, to, now);
  const own = afterSeq === 0 ? eraseOwn(state, user) : [];
  const next = isMore ? from : to >= record.headSeq ? null : to;
  return [
    ...(own.length === 0 ? [] : [{ kind: 'append', writes: own } as const]),
    ...emptied.effects,
    ...taken,
    answer({ next, messages: emptied.messages, bytes: emptied.bytes, isHeld: false }),
  ];
}

const answer = (value: ErasureStep): Effect => ({ kind: 'answer', value });

function emptyMessages(
  state: ConversationState,
  record: ConversationRecord,
  user: string,
  from: number,
  to: number,
  now: number,
): { readonly effects: Effect[]; readonly messages: number; readonly bytes: number } {
  const effects: Effect[] = [];
  let messages = 0;
  let bytes = 0;
  for (let seq = from + 1; seq <= to; seq += 1) {
    const end = Math.ceil(seq / POSTED_BLOCK) * POSTED_BLOCK;
    if (!mayHavePosted(state, record, user, end)) {
      seq = end;
      continue;
    }
    const stored = state.stored(seq);
    if (stored === undefined || messageRecord.facts(stored).sender !== user) continue;
    const flags = messageRecord.flags(stored);
    if ((flags & MESSAGE_FLAGS.deleted) !== 0) continue;
    const old = JSON.parse(messageRecord.json(stored)) as Message;
    const { effects: emptied } = emptyMessage(state, record, { seq, old, flags }, now);
    effects.push(...emptied);
    messages += 1;
    bytes += Buffer.byteLength(JSON.stringify(old.body ?? ''));
  }
  return { effects, messages, bytes };
}

/** Whether a person posted in the block that ends with this seq, by its counts; in the last one it has to be looked. */
function mayHavePosted(state: ConversationState, record: ConversationRecord, user: string, end: number): boolean {
  if (end > indexedUpTo(record.headSeq)) return true;
  const stored = state.view.get('senders', numbered(end / POSTED_BLOCK, state.id));
  return stored === undefined || senderCounts.decode(stored).some(([sender]) => sender === user);
}

/**
 * Takes back the person's reactions. One for each message in one step: what the step writes is not read back by it.
 * `isMore` asks for the same step again.
 */
function takeReactions(
  state: ConversationState,
  record: ConversationRecord,
  user: string,
  from: number,
  to: number,
  now: number,
): { readonly effects: Effect[]; readonly isMore: boolean } {
  const { id, view } = state;
  const effects: Effect[] = [];
  const seen = new Set<number>();
  let isMore = false;
  for (const itemKey of view.keys('reactions', { start: numbered(from + 1, id), end: numbered(to + 1, id) })) {
    if (lastPart(itemKey) !== user) continue;
    const seq = itemKey.readUIntBE(id.length + 1, SEQ_BYTES);
    const stored = state.stored(seq);
    // A message of theirs lost all its reactions with its body.
    if (stored === undefined || messageRecord.facts(stored).sender === user) continue;
    isMore ||= seen.has(seq);
    if (seen.has(seq)) continue;
    seen.add(seq);
    const emoji = itemKey.toString('utf8', id.length + 1 + SEQ_BYTES, itemKey.lastIndexOf(0));
    const taken = react(state, record, SERVER, { kind: 'react', seq, emoji, user, device: '', added: false }, now);
    effects.push(...taken.filter(({ kind }) => kind !== 'answer'));
  }
  return { effects, isMore };
}

const SEQ_BYTES = 6;

/** What the person keeps to themself here, how far they read, and invitations to them and by them, and their links. */
function eraseOwn(state: ConversationState, user: string): LaneWrite[] {
  const own = [
    ['personal', key(user, state.id)],
    ['watermarks', key(state.id, user)],
  ] as const;
  const kept = own.flatMap(([table, itemKey]) =>
    state.view.get(table, itemKey) === undefined ? [] : [removeKey(table, itemKey)],
  );
  return [...kept, ...eraseInvitations(state, user), ...removeLinksBy(state, user)];
}
