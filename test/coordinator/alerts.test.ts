import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { makeAlertsPage } from '#src/console/routes/operations/alerts.ts';
import {
  CERTIFICATE_MILLIS_MIN,
  ARCHIVE_LAG_SECONDS_MAX,
  COMMIT_P99_SECONDS_MAX,
  diskCondition,
  makeAlertSources,
  type AlertSourcesOptions,
} from '#src/server/alert-sources.ts';
import { Alerts, ALERTS_KEPT_MAX, CONDITIONS_MAX, type AlertsOptions, type Condition } from '#src/monitoring/alerts.ts';
import { makeNodeServices } from '#src/hosts/node-services.ts';
import type { Refusal } from '#src/protocol/errors.ts';
import type { ClusterHost } from '#src/telemetry/health-body.ts';
import { ACCOUNTS_MAP_BYTES } from '#storage/accounts/accounts-reader.ts';
import { Accounts } from '#storage/accounts/accounts.ts';
import { openFolder } from '#storage/engine/folder.ts';
import { startServer } from '#test/support/server.ts';
import { HandClock, START, temporaryFolder } from './coordinator-fixture.ts';
import { HEALTH, OWNER } from './node-fixture.ts';

async function openAccounts(context: TestContext) {
  const folder = temporaryFolder(context);
  openFolder(folder, 4, '2026-11-21T08:00:00.000Z');
  const accounts = await Accounts.open(folder);
  context.after(async () => await accounts.close());
  return { accounts, clock: new HandClock(), folder };
}

async function makeAlerts(context: TestContext) {
  const { accounts, clock, folder } = await openAccounts(context);
  let conditions: readonly Condition[] | Error = [];
  const failed: string[] = [];
  const look = () => {
    if (conditions instanceof Error) throw conditions;
    return conditions;
  };
  const sources: AlertsOptions['sources'] = { world: { kinds: ['commit_slow', 'node_silent'], look } };
  const alerts = new Alerts({ accounts, clock, sources, failed: (source) => void failed.push(source) });
  const { handlers } = makeAlertsPage({ alerts });
  const read = async (query: object = {}) => {
    const asked = {
      principal: OWNER,
      hasSteppedUp: true,
      address: '',
      by: { actor: 'user:olga', address: '' },
      parameters: {},
      body: undefined,
      query: { limit: 50, ...query },
    };
    // oxlint-disable-next-line typescript/no-explicit-any
    return (await handlers['listAlerts']?.(asked))?.body as any;
  };
  const see = async (seen: readonly Condition[] | Error) => {
    conditions = seen;
    await alerts.evaluate();
  };
  return { accounts, alerts, clock, failed, folder, read, see };
}

const SLOW: Condition = { kind: 'commit_slow', subject: 'server', details: 'p99 0.300 s' };
const SILENT: Condition = { kind: 'node_silent', subject: 'node:n_1', details: 'last seen never' };

test('an alert opens with its condition, stays one, and closes by itself', async (context) => {
  const { clock, failed, read, see } = await makeAlerts(context);
  await see([SLOW]);
  clock.advance(15);
  await see([{ ...SLOW, details: 'p99 0.400 s' }, SILENT]);
  const open = (await read({ state: 'open' })).items;
  assert.equal(open.length, 2);
  assert.deepEqual(open[1], {
    id: open[1].id,
    kind: 'commit_slow',
    say: 'Commits take longer than they should: the 99th percentile is above a quarter of a second.',
    about: 'server',
    details: 'p99 0.400 s',
    state: 'open',
    since: '2026-11-21T08:00:00.000Z',
    last_seen: '2026-11-21T08:00:15.000Z',
    closed_at: null,
  });
  clock.advance(15);
  await see(new Error('the source is broken'));
  assert.deepEqual([failed, (await read({ state: 'open' })).items.length], [['world'], 2]);
  await see([SILENT]);
  const [closed] = (await read({ state: 'closed' })).items;
  assert.deepEqual([closed.kind, closed.closed_at], ['commit_slow', '2026-11-21T08:00:30.000Z']);
  clock.advance(15);
  await see([SLOW]);
  assert.equal((await read()).items.length, 3, 'a trouble that comes back is another alert');
});

test('alerts outlive a restart, and a moment closes after its time', async (context) => {
  const { accounts, alerts, clock, failed, read, see } = await makeAlerts(context);
  await see([SILENT]);
  await Promise.all([1, 2].map(() => alerts.note('break_glass_used', 'server', 'from 192.0.2.7')));
  await alerts.note('shard_restarted', 'shard:0', 'it died and is back');
  const again = new Alerts({ accounts, clock, sources: {}, failed: (source) => void failed.push(source) });
  assert.equal(again.openCount, 3);
  clock.advance(3_599);
  await see([SILENT]);
  assert.equal((await read({ state: 'open' })).items.length, 3);
  clock.advance(1);
  await see([SILENT]);
  assert.deepEqual(
    (await read({ state: 'closed' })).items.map(({ kind }: { kind: string }) => kind),
    ['shard_restarted'],
  );
  clock.advance(23 * 3_600);
  await see([]);
  assert.equal(again.openCount, 0);
  assert.deepEqual(failed, []);
  await alerts.stop();
});

test('one look opens so many alerts and no more', async (context) => {
  const { alerts, see } = await makeAlerts(context);
  await see(Array.from({ length: CONDITIONS_MAX + 1 }, (_, at) => ({ ...SILENT, subject: `node:${at}` })));
  assert.equal(alerts.openCount, CONDITIONS_MAX);
});

test('closed alerts are bounded in number and in time, and paged', async (context) => {
  const { alerts, clock, read, see } = await makeAlerts(context);
  for (let round = 0; round < 3; round += 1) {
    clock.advance(15);
    await see(Array.from({ length: 400 }, (_, at) => ({ ...SILENT, subject: `node:${round}-${at}` })));
    clock.advance(15);
    await see([]);
  }
  const all = alerts.page(undefined, undefined, 10_000);
  assert.equal(all.length, ALERTS_KEPT_MAX);
  assert.ok(all.every(({ document }) => document.state === 'closed'));
  const { items, next } = await read({ limit: 2 });
  assert.equal(next, items[1].id);
  assert.equal((await read({ limit: 1, after: next })).items[0].id, all[2]?.id);
  await assert.rejects(
    async () => await read({ after: 'x' }),
    (error) => (error as Refusal).code === 'cursor_invalid',
  );
  clock.advance(31 * 86_400);
  await see([SLOW]);
  assert.equal(alerts.page(undefined, undefined, 10).length, 1);
});

test('the sources see silent nodes, low disks, ending certificates, slow commits and a failing redactor', async (context) => {
  const { accounts, clock, folder } = await openAccounts(context);
  const { nodes } = makeNodeServices(accounts, clock);
  let [p99, failures]: [number | null, number] = [null, 0];
  let hosts: readonly ClusterHost[] | null = null;
  let damage = { faults: 0, lanes_set_aside: 0, archive_gaps: 0, archive_lag_seconds: 0 };
  let used = 0;
  const options: AlertSourcesOptions = {
    nodes,
    clock,
    folder,
    startedAt: START,
    quotaConditions: () => [],
    accountsUsedBytes: () => used,
    commitP99Seconds: async () => p99,
    storageDamage: async () => damage,
    clusterHosts: async () => hosts,
    redactionFailures: () => failures,
  };
  const served = { chain: '', key: '', fingerprint: '', notAfter: clock.now() + 2 * CERTIFICATE_MILLIS_MIN };
  const certificate = { current: served, fault: undefined as string | undefined };
  const sources = makeAlertSources({ ...options, certificate });
  const look = async (name: string) =>
    (await sources[name]?.look())
      ?.filter(({ subject }) => subject !== 'disk:server')
      .map(({ kind, subject }) => [kind, subject]);
  const made = await nodes.create({ name: 'one', roles: [] }, { actor: 'user:root', address: null });
  const { id } = made;
  assert.deepEqual(await look('nodes'), []);
  await nodes.join({ join_token: made.joinToken, hostname: 'one', agent_version: '1', os: 'x' }, '127.0.0.1');
  const disk = { path: '/', total_bytes: 100 * 1024 ** 3, free_bytes: 4 * 1024 ** 3 };
  const certificates = [
    { name: 'soon.pem', not_after: '2026-12-05T07:59:59Z' },
    { name: 'later.pem', not_after: '2026-12-05T08:00:00Z' },
  ];
  await nodes.putHealth(id, { ...HEALTH, disks: [disk], certificates, units_failed: [], errors: [] });
  assert.deepEqual(await look('nodes'), [
    ['disk_low', `disk:${id}:/`],
    ['certificate_ending', `certificate:${id}:soon.pem`],
  ]);
  clock.advance(91);
  assert.deepEqual((await look('nodes'))?.[0], ['node_silent', `node:${id}`]);
  await nodes.revoke(id, { actor: 'user:root', address: null });
  assert.deepEqual(await look('nodes'), []);

  assert.deepEqual(await look('certificate'), []);
  certificate.current = { ...served, notAfter: clock.now() + CERTIFICATE_MILLIS_MIN - 1 };
  certificate.fault = 'not a certificate';
  assert.deepEqual(await look('nodes'), [['certificate_ending', 'certificate:listeners']]);
  assert.deepEqual(await look('certificate'), [['certificate_unusable', 'server']]);

  assert.deepEqual(await look('commits'), []);
  p99 = COMMIT_P99_SECONDS_MAX;
  assert.deepEqual(await look('commits'), []);
  p99 = COMMIT_P99_SECONDS_MAX + 0.001;
  assert.deepEqual(await look('commits'), [['commit_slow', 'server']]);

  assert.deepEqual(await look('storage'), []);
  damage = { ...damage, lanes_set_aside: 1 };
  assert.deepEqual(await look('storage'), [['storage_damaged', 'server']]);
  damage = { ...damage, faults: 1, lanes_set_aside: 0 };
  assert.deepEqual(await look('storage'), [['storage_damaged', 'server']]);

  damage = { ...damage, archive_lag_seconds: ARCHIVE_LAG_SECONDS_MAX };
  assert.deepEqual(await look('archive'), []);
  damage = { ...damage, archive_lag_seconds: ARCHIVE_LAG_SECONDS_MAX + 1 };
  assert.deepEqual(await look('archive'), [['archive_behind', 'server']]);
  damage = { ...damage, archive_lag_seconds: 0, archive_gaps: 1 };
  assert.deepEqual(await look('archive'), [['archive_behind', 'server']]);

  assert.deepEqual(await look('cluster'), [], 'a host that is alone');
  hosts = [
    { host: 'one', role: 'leads', lag_ms: 0 },
    { host: 'two', role: 'follows', lag_ms: 5_000 },
  ];
  assert.deepEqual(await look('cluster'), []);
  hosts = [hosts[0] as ClusterHost, { host: 'two', role: 'follows', lag_ms: 5_001 }];
  assert.deepEqual(await look('cluster'), [['cluster_host_away', 'host:two']]);
  hosts = [hosts[0] as ClusterHost, { host: 'two', role: 'cannot_store', lag_ms: 0 }];
  assert.deepEqual(await look('cluster'), [['cluster_host_away', 'host:two']]);
  hosts = hosts.slice(0, 1);
  assert.deepEqual(await look('cluster'), [['cluster_host_away', 'host:two']], 'one that was there and is not');

  assert.deepEqual(await look('accounts'), []);
  used = 0.8 * ACCOUNTS_MAP_BYTES;
  assert.deepEqual(await look('accounts'), [['accounts_filling', 'server']]);

  assert.deepEqual(await look('redaction'), []);
  failures = 2;
  assert.deepEqual(await look('redaction'), [['redaction_failing', 'server']]);
  assert.deepEqual(await look('redaction'), []);
});

test('a disk is low below a twentieth or below a gibibyte', () => {
  const GIB = 1024 ** 3;
  const isLow = (total: number, free: number) => diskCondition('disk:server', { total, free }).length === 1;
  assert.deepEqual(
    [isLow(100 * GIB, 5 * GIB), isLow(100 * GIB, 5 * GIB - 1), isLow(10 * GIB, GIB), isLow(10 * GIB, GIB - 1)],
    [false, true, false, true],
  );
  assert.deepEqual([isLow(GIB, GIB / 2), isLow(GIB, GIB / 100), isLow(0, 0)], [false, true, false]);
});

test('an alert that is raised stands in the audit trail, once', async (context) => {
  const { accounts, alerts, see } = await makeAlerts(context);
  await see([SLOW]);
  await see([SLOW]);
  await alerts.note('break_glass_used', 'server', 'from 192.0.2.7');
  await alerts.note('break_glass_used', 'server', 'from 192.0.2.8');
  await see([]);
  await see([SLOW]);
  const raised = accounts.auditEntriesAfter(0, 10).map(({ event, actor, subject, details }) => {
    return [event, actor, subject, details['kind']];
  });
  assert.deepEqual(raised, [
    ['alert.raised', 'server', 'server', 'commit_slow'],
    ['alert.raised', 'server', 'server', 'break_glass_used'],
    ['alert.raised', 'server', 'server', 'commit_slow'],
  ]);
});

test('once stopped nobody looks any more, and what happens while the server ends is noted', async (context) => {
  const { alerts, see } = await makeAlerts(context);
  await alerts.stop();
  await see([SLOW]);
  const noted = alerts.note('break_glass_used', 'server', 'from 192.0.2.7');
  await alerts.stop();
  assert.deepEqual(
    alerts.page('open', undefined, 10).map(({ document }) => document.kind),
    ['break_glass_used'],
  );
  await noted;
});

test('a server that is stopped as soon as it is ready warns of nothing', async () => {
  const output: string[] = [];
  const server = await startServer({ output });
  assert.equal(await server.stop(), 0);
  assert.deepEqual(
    output.filter((line) => /"level":"(?:warn|error)"/.test(line)),
    [],
  );
});
