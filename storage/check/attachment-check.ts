/** Checks attachments: that records, contents on disk and the messages that have them agree. */
import { existsSync } from 'node:fs';
import type { Message } from '#src/protocol/conversations/messages.ts';
import {
  attachmentRecord,
  openAttachments,
  type AttachmentEnvironment,
  type AttachmentRecord,
} from '../attachments/attachment-records.ts';
import { attachmentOf, isHeldReference, isReferenced, referenceAt } from '../conversations/attachment-references.ts';
import { faultOfSealed } from '../attachments/blob-contents.ts';
import { isSealedName } from '../attachments/blob-sealing.ts';
import { blobPath, measureBlob } from '../attachments/blobs.ts';
import type { Findings } from '../engine/findings.ts';
import { folderPaths } from '../engine/folder.ts';
import { checkUploadUse } from './usage-check.ts';
import { key, numbered, numberOf, under } from '../engine/keys.ts';
import type { LaneEnvironment } from '../engine/lane.ts';
import { messageRecord } from '../engine/records.ts';

/** Looks for references of one lane that do not go with their messages, or with each other. */
export function checkReferences(tables: LaneEnvironment['tables'], findings: Findings): void {
  for (const { key: itemKey, value } of tables.attachments.getRange()) {
    const seq = numberOf(itemKey);
    const conversation = itemKey.toString('latin1', 0, itemKey.length - 7);
    const attachment = value.toString();
    if (tables.references.get(numbered(seq, attachment, conversation)) === undefined) {
      findings.add('attachments', [conversation, seq], 'is not found from its attachment');
    }
    const stored = tables.messages.get(numbered(seq, conversation));
    // A message that a purge took first leaves its reference for the next block.
    if (stored === undefined) continue;
    const { body, deleted_at: deletedAt } = JSON.parse(messageRecord.json(stored)) as Message;
    const isHeld = isHeldReference(tables, conversation, seq, attachment);
    if (isHeld !== (deletedAt !== undefined)) {
      findings.add('attachments', [conversation, seq], 'is held without its message being deleted, or the other way');
    }
    if (!isHeld && attachmentOf(body) !== attachment) {
      findings.add('attachments', [conversation, seq], 'is not the attachment of its message');
    }
  }
  for (const itemKey of tables.references.getKeys()) {
    const { attachment, conversation, seq } = referenceAt(itemKey);
    if (tables.attachments.get(numbered(seq, conversation))?.toString() !== attachment) {
      findings.add('references', [attachment, conversation, seq], 'is of no message');
    }
  }
}

/** Looks for attachments without content or message, and for messages whose attachment is not there. */
export async function checkAttachments(
  folder: string,
  lanes: readonly LaneEnvironment[],
  findings: Findings,
): Promise<void> {
  if (!existsSync(folderPaths(folder).attachments)) {
    const named = lanes.some(({ tables }) => [...tables.references.getKeys({ limit: 1 })].length > 0);
    if (named) findings.say('There are messages with attachments, and no file attachments.mdb.');
    return;
  }
  const environment = openAttachments(folder);
  try {
    // Uploads that no message has: UNPOSTED_PER_PERSON_MAX a person.
    const waiting = new Set([...environment.tables.unposted.getRange()].map(({ value }) => value.toString()));
    for (const { key: itemKey, value } of environment.tables.attachments.getRange()) {
      const id = itemKey.toString();
      const record = findings.attempt('attachments', [id], () => attachmentRecord.decode(value));
      if (record !== undefined) await checkRecord(folder, environment, lanes, waiting, record, findings);
    }
    for (const itemKey of environment.tables.contents.getKeys()) {
      const [hash = '', id = ''] = itemKey.toString().split('\0');
      const stored = environment.tables.attachments.get(key(id));
      if (stored === undefined || attachmentRecord.decode(stored).hash !== hash) {
        findings.add('contents', [hash, id], 'is of no attachment');
      }
    }
    checkPlaces(environment, findings);
    for (const { tables } of lanes) {
      for (const itemKey of tables.references.getKeys()) {
        const { attachment, conversation, seq } = referenceAt(itemKey);
        if (environment.tables.attachments.get(key(attachment)) === undefined) {
          findings.add('references', [attachment, conversation, seq], 'names an attachment that is not there');
        }
      }
    }
    if (findings.problems.length === 0) checkUploadUse(environment, findings);
  } finally {
    await environment.close();
  }
}

/** Looks for contents in the object store that no attachment has, and for objects that would go and are in use. */
function checkPlaces({ tables }: AttachmentEnvironment, findings: Findings): void {
  for (const { key: itemKey, value } of tables.placed.getRange()) {
    const name = itemKey.toString();
    if ([...tables.contents.getKeys({ ...under(name), limit: 1 })].length === 0) {
      findings.add('placed', [name], 'is a content in the object store that no attachment has');
    }
    if (tables.doomed.get(Buffer.from(value)) !== undefined) {
      findings.add('placed', [name], 'has an object that is about to be removed');
    }
  }
}

async function checkRecord(
  folder: string,
  { tables }: AttachmentEnvironment,
  lanes: readonly LaneEnvironment[],
  waiting: ReadonlySet<string>,
  { id, bytes, hash }: AttachmentRecord,
  findings: Findings,
): Promise<void> {
  const hasMark = lanes.some((lane) => lane.tables.meta.get(key('release', id)) !== undefined);
  if (!waiting.has(id) && !hasMark && !lanes.some((lane) => isReferenced(lane.tables, id))) {
    findings.add('attachments', [id], 'is in no message, and nothing will remove it');
  }
  if (hash === undefined) return;
  if ([...tables.contents.getKeys({ ...under(hash), limit: 1 })].length === 0) {
    findings.add('attachments', [id], 'has a content that is not listed');
  }
  // What lies in the object store is not looked at: the folder of a stopped server is, and nothing else.
  if (tables.placed.get(key(hash)) !== undefined) return;
  if (isSealedName(hash)) {
    // Without the key only its length can be looked at: opening it tells the rest.
    const isThere = existsSync(blobPath(folder, hash));
    const fault = isThere ? await faultOfSealed(blobPath(folder, hash), bytes) : 'has no content on disk';
    if (fault !== undefined) findings.add('attachments', [id], fault);
    return;
  }
  const found = await measureBlob(folder, hash);
  if (found === undefined) findings.add('attachments', [id], 'has no content on disk');
  else if (found.bytes !== bytes) findings.add('attachments', [id], `has ${found.bytes} bytes on disk, not ${bytes}`);
  else if (found.hash !== hash) findings.add('attachments', [id], 'has a content that was changed on disk');
}
