/** Checks what a legal hold kept of a conversation: that each version is of a message, and of a change of it. */
import type { Subject } from './check-subject.ts';
import { keptAt, holdRevision } from '../conversations/hold-revisions.ts';
import { under } from '../engine/keys.ts';

export function checkHoldRevisions({ tables, record, findings }: Subject): void {
  for (const { key: itemKey, value } of tables.keptVersions.getRange(under(record.id))) {
    const { rev, seq } = keptAt(itemKey);
    const wrong = (predicate: string) => findings.add('keptVersions', [record.id, seq, rev], predicate);
    if (seq > record.headSeq) wrong(`is of a message beyond the head ${record.headSeq}`);
    if (rev > record.rev) wrong(`is of a change beyond the rev ${record.rev}`);
    findings.attempt('keptVersions', [record.id, seq, rev], () => {
      const said = JSON.parse(holdRevision(value).json) as { conversation_id?: unknown; seq?: unknown };
      if (said.conversation_id !== record.id || said.seq !== seq) wrong('is of another message by its JSON');
    });
  }
}
