import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { delimiter, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { readHealth } from '#src/node-agent/host-health.ts';
import { nodeHealth } from '#src/protocol/hosts/nodes.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';

/** A certificate for tests, whose key nobody kept. It ends at the instant below. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBSjCB/aADAgECAhRpKG6a+VY0H5zNnRQiVEI6umMFOzAFBgMrZXAwGzEZMBcG
A1UEAwwQbWFpbC5leGFtcGxlLm9yZzAeFw0yNjExMjEwNjM3NTRaFw0zNjExMTgw
NjM3NTRaMBsxGTAXBgNVBAMMEG1haWwuZXhhbXBsZS5vcmcwKjAFBgMrZXADIQCF
ZLkDh35r2yYUWxz+jdlg9+bhJFgXTD2F2n5SOY4TeKNTMFEwHQYDVR0OBBYEFD8S
KBsJMOYK1s9xlaHkHQtA8EhQMB8GA1UdIwQYMBaAFD8SKBsJMOYK1s9xlaHkHQtA
8EhQMA8GA1UdEwEB/wQFMAMBAf8wBQYDK2VwA0EApCGi8HQCpQDaWKBL3OrgBDr9
G6OvgutWSpRg6oxr2PBrqeR6UySNbd3cuW+vjoqNcXBeGcB8Q+qDnCS4w5P7Dw==
-----END CERTIFICATE-----
`;
const CERTIFICATE_END = '2036-11-18T06:37:54.000Z';

function plantPrograms(context: TestContext, programs: Readonly<Record<string, string>>): void {
  const folder = temporaryFolder(context);
  for (const [name, script] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  const path = process.env['PATH'];
  process.env['PATH'] = `${folder}${delimiter}${path ?? ''}`;
  context.after(() => (process.env['PATH'] = path));
}

test('NOD-02 health has the failed units, the last errors, the disks and the certificates of the host', async (context) => {
  const folder = temporaryFolder(context);
  writeFileSync(join(folder, 'mail.pem'), CERTIFICATE);
  writeFileSync(join(folder, 'broken.pem'), 'no certificate');
  const entry = '{"MESSAGE":"disk on fire","_SYSTEMD_UNIT":"smartd.service","__REALTIME_TIMESTAMP":"1795248000123456"}';
  plantPrograms(context, {
    systemctl: "echo 'postfix.service loaded failed failed Postfix'\necho 'a@b.service loaded failed failed B'",
    journalctl: `cat <<'END'\n${entry}\n{"MESSAGE":[1,2,3]}\nnot json\nEND`,
  });
  const health = await readHealth({
    agentVersion: '1.2.3',
    folders: [folder, join(folder, 'missing')],
    certificates: ['mail.pem', 'broken.pem', 'missing.pem'].map((name) => join(folder, name)),
    hasSystemd: true,
  });
  assert.deepEqual(nodeHealth.parse(health), health, 'the door takes it as it is');
  assert.deepEqual(health.units_failed, ['postfix.service', 'a@b.service']);
  assert.deepEqual(health.errors, [
    { at: '2026-11-21T08:00:00.123Z', host: hostname(), unit: 'smartd.service', level: 'error', line: 'disk on fire' },
  ]);
  assert.deepEqual(health.certificates, [{ name: 'mail.pem', not_after: CERTIFICATE_END }]);
  assert.deepEqual(
    health.disks.map(({ path }) => path),
    [folder],
  );
});

test('a host whose systemd does not answer reports the rest', async (context) => {
  plantPrograms(context, { systemctl: 'exit 1', journalctl: 'exit 1' });
  const health = await readHealth({ agentVersion: '1', folders: [], certificates: [], hasSystemd: true });
  assert.deepEqual(nodeHealth.parse(health), health);
  assert.deepEqual([health.units_failed, health.errors, health.disks], [[], [], []]);
});
