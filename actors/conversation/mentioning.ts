/** Mentions of a message: who may be mentioned, and the rows by which they find it. */
import type { Mention } from '#src/protocol/conversations/messages.ts';
import type { LaneWrite } from '#storage/engine/lane.ts';
import {
  calledBy,
  EVERYBODY,
  mentionKey,
  removeMention,
  writeMention,
} from '#storage/conversations/mention-records.ts';
import type { MemberRecord } from '#storage/engine/records.ts';
import { refuse, type Effect } from '../runtime/actor.ts';
import type { ConversationState } from './conversation.state.ts';

/**
 * Why somebody may not mention so: `mention_unknown` for who does not take part, `right_missing` for everybody where
 * that takes a right. Undefined when they may.
 */
export function refuseMentions(
  state: ConversationState,
  member: MemberRecord,
  mentions: readonly Mention[],
  before: readonly Mention[] = [],
): readonly Effect[] | undefined {
  // Who was mentioned when they took part may stay so.
  const known = new Set(before.map((mention) => nameOf(mention)));
  for (const [index, mention] of mentions.entries()) {
    if (known.has(nameOf(mention))) continue;
    if ('all' in mention) {
      if (!state.may(member.role, 'mention.all')) return refuse('right_missing', `mentions.${index}.all`);
    } else if (state.member(mention.username) === undefined) {
      return refuse('mention_unknown', `mentions.${index}.username`);
    }
  }
  return undefined;
}

function nameOf(mention: Mention): string {
  return 'all' in mention ? EVERYBODY : mention.username;
}

export interface Mentioning {
  readonly seq: number;
  readonly sender: string;
  readonly before?: readonly Mention[] | undefined;
  readonly after?: readonly Mention[] | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** The rows that change when a message has other mentions than before: who stays mentioned keeps their row. */
export function mentionWrites(state: ConversationState, mentioning: Mentioning): LaneWrite[] {
  const { seq, sender, before, after, now } = mentioning;
  if (before === undefined && after === undefined) return [];
  const [called, calling] = [calledBy(before, sender), calledBy(after, sender)];
  const writes: LaneWrite[] = [];
  for (const who of called.filter((one) => !calling.includes(one))) {
    const itemKey = mentionKey(state.id, who, seq);
    const value = state.view.get('mentions', itemKey);
    if (value !== undefined) writes.push(...removeMention(itemKey, value));
  }
  for (const who of calling.filter((one) => !called.includes(one))) {
    // Two people mentioned by one message have rows of one stamp, under keys of their own.
    const row = { conversation: state.id, seq, sender, at: now, stamp: state.record?.stamp ?? 0 };
    writes.push(...writeMention(who, row));
  }
  return writes;
}
