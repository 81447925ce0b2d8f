/** Checks what ties messages to people and to each other: mentions, threads and outcomes of calls, both ways. */
import type { Mention } from '#src/protocol/conversations/messages.ts';
import { isBelowFloor, isRemembered, type Subject } from './check-subject.ts';
import type { Findings } from '../engine/findings.ts';
import { numberAt, numbered, numberOf, under } from '../engine/keys.ts';
import type { LaneEnvironment } from '../engine/lane.ts';
import {
  calledBy,
  mentionAt,
  mentionedParts,
  mentionKey,
  mentionRow,
  mentionValue,
} from '../conversations/mention-records.ts';
import { messageRecord, MESSAGE_FLAGS, threadRecord } from '../engine/records.ts';
import { replyAt, replyKey } from '../conversations/thread-records.ts';

/** A stored message's own word, or undefined where there is none that can be read: `checkMessages` tells of that. */
function readSaid({ tables, record }: Subject, seq: number): Record<string, unknown> | undefined {
  const stored = tables.messages.get(numbered(seq, record.id));
  try {
    return stored === undefined ? undefined : (JSON.parse(messageRecord.json(stored)) as Record<string, unknown>);
  } catch {
    return undefined;
  }
}

/** Looks whether a message is found by whom it mentions, and in its thread. */
export function checkMessageLinks({ tables, record, findings }: Subject, seq: number, said: Record<string, unknown>) {
  const { id, floorSeq } = record;
  const sender = String(said['sender']);
  for (const who of calledBy(said['mentions'] as Mention[] | undefined, sender)) {
    const value = tables.mentions.get(mentionKey(id, who, seq));
    if (value === undefined) findings.add('mentions', [id, who, seq], 'is missing');
    else if (mentionValue(value).sender !== sender)
      findings.add('mentions', [id, who, seq], 'names another sender than the message');
  }
  const root = said['root_seq'];
  if (typeof root === 'number' && root > floorSeq && tables.replies.get(replyKey(id, root, seq)) === undefined) {
    findings.add('replies', [id, root, seq], 'is missing');
  }
}

/** Looks from the indexes back at the messages of a conversation. */
export function checkLinks(subject: Subject): void {
  checkMentions(subject);
  checkReplies(subject);
  checkThreads(subject);
  checkOutcomes(subject);
}

function checkMentions(subject: Subject): void {
  const { tables, record, stamp: lastStamp, findings } = subject;
  for (const { key: itemKey, value } of tables.mentions.getRange(under(record.id))) {
    const { who, seq } = mentionAt(itemKey);
    const parts = [record.id, who, seq];
    if (isBelowFloor(subject, 'mentions', parts, seq)) continue;
    const { stamp } = mentionValue(value);
    if (stamp > lastStamp) findings.add('mentions', parts, `has stamp ${stamp}, beyond the lane's ${lastStamp}`);
    const said = readSaid(subject, seq);
    if (!calledBy(said?.['mentions'] as Mention[] | undefined, String(said?.['sender'])).includes(who)) {
      findings.add('mentions', parts, 'is of a message that mentions them not');
    }
    const found = tables.mentioned.get(numbered(stamp, ...mentionedParts(who, record.id)));
    if (found === undefined) findings.add('mentioned', [...mentionedParts(who, record.id), stamp], 'is missing');
  }
}

/** Finds rows by stamp of one lane that no row by message leads to. */
export function checkMentioned(tables: LaneEnvironment['tables'], findings: Findings): void {
  for (const { key: itemKey, value } of tables.mentioned.getRange()) {
    const who = itemKey.toString('latin1', 0, itemKey.indexOf(0));
    const { conversation, seq, stamp } = mentionRow(itemKey, value);
    const mention = tables.mentions.get(mentionKey(conversation, who, seq));
    if (mention === undefined || mentionValue(mention).stamp !== stamp) {
      findings.add('mentioned', [...mentionedParts(who, conversation), stamp], 'is of no mention');
    }
  }
}

function checkReplies(subject: Subject): void {
  const { tables, record, findings } = subject;
  for (const itemKey of tables.replies.getKeys(under(record.id))) {
    const { root, seq } = replyAt(itemKey);
    const parts = [record.id, root, seq];
    if (isBelowFloor(subject, 'replies', parts, root)) continue;
    if (readSaid(subject, seq)?.['root_seq'] !== root) {
      findings.add('replies', parts, 'is of a message that is not in the thread');
    }
    if (tables.threads.get(numbered(root, record.id)) === undefined) {
      findings.add('threads', [record.id, root], 'is missing');
    }
  }
}

function checkThreads(subject: Subject): void {
  const { tables, record, findings } = subject;
  const { id } = record;
  for (const { key: itemKey, value } of tables.threads.getRange(under(id))) {
    const root = numberOf(itemKey);
    if (isBelowFloor(subject, 'threads', [id, root], root)) continue;
    const { count, last } = threadRecord.decode(value);
    const range = { start: numbered(root, id), end: numbered(root + 1, id) };
    const stored = tables.replies.getKeysCount(range);
    const [final] = tables.replies.getKeys({ start: range.end, end: range.start, reverse: true, limit: 1 });
    if (stored !== count) findings.add('threads', [id, root], `counts ${count} replies, but replies has ${stored}`);
    if (final === undefined || numberOf(final) !== last) {
      findings.add('threads', [id, root], `ends with ${last}, but replies does not`);
    }
    const message = tables.messages.get(numbered(root, id));
    if (message === undefined || (messageRecord.flags(message) & MESSAGE_FLAGS.replies) === 0) {
      findings.add('threads', [id, root], 'is of a message whose flag says it has none');
    }
  }
}

/** Messages from before there was an index of outcomes are in none, so this looks from the index alone. */
function checkOutcomes(subject: Subject): void {
  const { tables, record, findings } = subject;
  for (const { key: itemKey, value } of tables.outcomes.getRange(under(record.id))) {
    const [, call = '', user = ''] = itemKey.toString().split('\0');
    const parts = [record.id, call, user];
    const seq = findings.attempt('outcomes', parts, () => numberAt(value));
    if (seq === undefined || isRemembered(subject, 'outcomes', parts, seq)) continue;
    const said = readSaid(subject, seq);
    const isOutcome = said?.['kind'] === 'call' || said?.['kind'] === 'system';
    if (!isOutcome || said['sender'] !== user) {
      findings.add('outcomes', parts, `leads to message ${seq}, which is no outcome by them`);
    }
  }
}
