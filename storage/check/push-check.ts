/** Checks what is stored of pushes: every record is readable, and nothing waits for a device that is not registered. */
import type { Findings } from '../engine/findings.ts';
import { key, lastPart, numberAt } from '../engine/keys.ts';
import type { LaneEnvironment } from '../engine/lane.ts';
import { pushRegistrationRecord, pushRowRecord } from '../conversations/push-records.ts';

export function checkPushes(tables: LaneEnvironment['tables'], findings: Findings): void {
  for (const entry of tables.pushRegistrations.getRange()) {
    const parts = entry.key.toString().split('\0');
    findings.attempt('pushRegistrations', parts, () => pushRegistrationRecord.decode(lastPart(entry.key), entry.value));
  }
  for (const entry of tables.pushOutbox.getRange()) {
    const [user = '', device = ''] = entry.key.toString('latin1').split('\0');
    findings.attempt('pushOutbox', [user, device], () => pushRowRecord.decode(entry.key, entry.value));
    if (tables.pushRegistrations.get(key(user, device)) === undefined) {
      findings.add('pushOutbox', [user, device], 'waits for a device that is not registered');
    }
  }
  for (const entry of tables.pushCursors.getRange()) {
    findings.attempt('pushCursors', entry.key.toString().split('\0'), () => numberAt(entry.value));
  }
}
