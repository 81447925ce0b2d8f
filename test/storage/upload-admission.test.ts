/** Leave to upload: what counts, from when, and until when. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QuotaGate } from '#src/limits/quotas.ts';
import { chargeOf, UNPOSTED_PER_PERSON_MAX, UploadAdmission } from '#storage/attachments/upload-admission.ts';

const DAY = 86_400_000;

function admit(quotaBytes: number, uploaded: Record<string, number> = {}, ofAll?: number): UploadAdmission {
  const all = ofAll === undefined ? {} : { installation_attachment_bytes: ofAll };
  const limits = { attachment_bytes: quotaBytes, ...all };
  return new UploadAdmission({
    requireQuota: new QuotaGate({ limits, now: () => 40 * DAY, near: () => undefined }).require,
    now: () => 40 * DAY,
    uploadedSince: (owner, day) => (day === 11 ? (uploaded[owner] ?? 0) : assert.fail(`asked from day ${day} on`)),
  });
}

test('a reservation counts beside what was uploaded, to the byte, until it is given back', () => {
  const admission = admit(100_000, { ada: 50_000 });
  const id = admission.reserve('ada', 40_000);
  assert.throws(() => admission.reserve('ada', 10_001), { code: 'quota_exceeded' });
  admission.reserve('bob', 100_000);
  const last = admission.reserve('ada', 10_000);
  assert.throws(() => admission.reserve('ada', 0), { code: 'quota_exceeded' });
  admission.release(last);
  admission.release(last);
  assert.throws(() => admission.reserve('ada', 10_001), { code: 'quota_exceeded' });
  assert.deepEqual(admission.get(id), { owner: 'ada', bytes: 40_000, createdAt: 40 * DAY });
  assert.equal(chargeOf(0), 4_096);
});

test('all people together may upload so much, whoever it was', () => {
  const admission = admit(100_000, { ada: 50_000, '': 130_000 }, 180_000);
  admission.reserve('bob', 50_000);
  assert.throws(() => admission.reserve('ada', 1), {
    code: 'quota_exceeded',
    field: 'installation_attachment_bytes',
    limit: 180_000,
  });
});

test('one that is being used is neither given back nor used again, and comes to nothing when that fails', async () => {
  const admission = admit(1_000_000);
  const ids = Array.from({ length: UNPOSTED_PER_PERSON_MAX }, () => admission.reserve('ada', 1));
  const [first = '', second = ''] = ids;
  assert.throws(() => admission.reserve('ada', 1), { code: 'uploads_full' });
  const { promise, resolve } = Promise.withResolvers<void>();
  const used = admission.use(first, async () => await promise);
  admission.release(first);
  assert.equal(admission.has(first), true);
  await assert.rejects(
    admission.use(first, async () => undefined),
    { code: 'upload_busy' },
  );
  resolve();
  await used;
  assert.equal(admission.has(first), false);
  // It is stored, and waits for its message.
  assert.throws(() => admission.reserve('ada', 1), { code: 'uploads_full' });
  const failure = new Error('no room');
  await assert.rejects(
    admission.use(second, async () => await Promise.reject(failure)),
    failure,
  );
  admission.reserve('ada', 1);
  assert.throws(() => admission.reserve('ada', 1), { code: 'uploads_full' });
  await assert.rejects(
    admission.use('att_unknown', async () => undefined),
    { code: 'upload_busy' },
  );
});
