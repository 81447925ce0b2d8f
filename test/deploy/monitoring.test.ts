/**
 * The scrape configuration, the alerts and the dashboard of `docs/deploy`: held against the table of metrics, run by
 * promtool, and asked of a real Prometheus that reads a real server.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { METRICS, type MetricName } from '#src/telemetry/metric-table.ts';
import { request, startServer, type TestServer } from '#test/support/server.ts';
import { temporaryFolder } from '#test/support/temporary-folder.ts';
import { until } from '#test/support/waiting.ts';
import { readDeployed, replaceIn } from './proxy.ts';
import { freePort, RealProgram, unlessInstalled } from '#test/support/real-program.ts';

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly fieldConfig?: { readonly defaults: { readonly unit: string } };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}
const dashboard = JSON.parse(readDeployed('grafana/parley.json')) as {
  readonly panels: readonly Panel[];
  readonly annotations: { readonly list: readonly { readonly expr: string }[] };
};
const charts = dashboard.panels.filter(({ type }) => type !== 'row');
const targets = charts.flatMap((panel) => panel.targets ?? []);
const expressions = [...targets, ...dashboard.annotations.list].map(({ expr }) => expr);
const alerts = readDeployed('prometheus/alerts.yml');
const alertNames = [...alerts.matchAll(/^ +- alert: (\w+)$/gm)].map(([, name = '']) => name);

/** What is wrong with the metrics that an expression names, by the table. */
function metricFaults(expression: string): string[] {
  return [...expression.matchAll(/\bparley_\w+/g)].flatMap(([name]) => {
    const base = name.replace(/_(?:bucket|sum|count)$/, '') as MetricName;
    const isPart = base !== name;
    const metric = METRICS[isPart ? base : name];
    if (metric === undefined) return [`there is no metric ${name}`];
    if (isPart !== (metric.type === 'histogram')) return [`${name} is a ${metric.type}`];
    const isCounted = new RegExp(`\\b(?:rate|increase)\\(${name}\\b`).test(expression);
    if (isCounted && metric.type === 'gauge') return [`${name} is a gauge, and has no rate`];
    const labels = [...expression.matchAll(/\bby \((\w+)\)|[{,](\w+)=~?"/g)].map(([, by, is]) => by ?? is ?? '');
    const known: readonly string[] = [...metric.labels, ...(metric.type === 'histogram' ? ['le'] : [])];
    return labels.filter((label) => !known.includes(label)).map((label) => `${name} has no label ${label}`);
  });
}

test('the dashboard and the alerts name metrics and labels that there are, as what they are', () => {
  const rules = alerts.split(/^ +- alert: /m).slice(1);
  assert.equal(rules.length, alertNames.length);
  // A rule over several metrics has labels of each: they are looked at one part at a time.
  const parts = rules.flatMap((rule) => rule.slice(rule.indexOf('expr:')).split(/ for:| labels:|\bor\b|\/ sum/));
  assert.deepEqual([...expressions, ...parts].flatMap(metricFaults), []);
  assert.ok(expressions.length > 40 && alertNames.length >= 20);
});

test('an expression over what there is not is found', () => {
  assert.deepEqual(metricFaults('sum(parley_nothing)'), ['there is no metric parley_nothing']);
  assert.deepEqual(metricFaults('rate(parley_calls_live[1m])'), ['parley_calls_live is a gauge, and has no rate']);
  assert.deepEqual(metricFaults('parley_storage_commit_seconds'), ['parley_storage_commit_seconds is a histogram']);
  assert.deepEqual(metricFaults('parley_threads_missing_sum'), ['parley_threads_missing_sum is a gauge']);
  assert.deepEqual(metricFaults('sum by (color) (parley_calls_live)'), ['parley_calls_live has no label color']);
  assert.deepEqual(metricFaults('parley_calls_live{color="red"}'), ['parley_calls_live has no label color']);
});

test('each chart says what it shows and in what unit, has a place of its own, and a legend by its labels', () => {
  const ids = dashboard.panels.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
  const taken = new Set<string>();
  for (const { description, fieldConfig, gridPos, targets: lines = [], title } of charts) {
    assert.match(`${title}: ${description}`, /^[A-Z].+: [A-Z0-9].+\.$/);
    assert.ok(fieldConfig?.defaults.unit, title);
    assert.ok(gridPos.x + gridPos.w <= 24, title);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
        assert.ok(!taken.has(`${x},${y}`), `${title} covers another chart`);
        taken.add(`${x},${y}`);
      }
    }
    for (const { expr, legendFormat } of lines) {
      const [, by = ''] = /\bby \((\w+)\)/.exec(expr) ?? [];
      const [, shown = ''] = /\{\{(\w+)\}\}/.exec(legendFormat) ?? [];
      assert.equal(shown, by === 'le' ? '' : by, `${title}: ${expr}`);
    }
  }
});

test('operators are told of each alert what it means and what to do', () => {
  const page = readFileSync(new URL('../../docs/operations/monitoring.md', import.meta.url), 'utf8');
  const told = [...page.matchAll(/^\| `(Parley\w+)` \| .+ \| .+ \|$/gm)].map(([, name]) => name);
  assert.deepEqual(told, alertNames);
});

const noPromtool = unlessInstalled('promtool', ['--version']);

test('promtool: each alert is silent one step before it is due, and speaks when it is', { skip: noPromtool }, () => {
  const cases = fileURLToPath(new URL('alerts.promtool.yml', import.meta.url));
  const { output, status } = spawnSync('promtool', ['test', 'rules', cases], { encoding: 'utf8' });
  assert.equal(status, 0, output.join('\n'));
  const text = readFileSync(cases, 'utf8');
  for (const name of alertNames) {
    assert.match(text, new RegExp(`alertname: ${name}, exp_alerts: \\[\\]`), `${name} is never silent`);
    assert.match(text, new RegExp(`alertname: ${name}\\n +exp_alerts:\\n +- exp_labels`), `${name} never speaks`);
  }
});

interface Rules {
  readonly data: {
    readonly groups: readonly { readonly rules: readonly { name: string; health: string; state: string }[] }[];
  };
}

/** Prometheus with the configuration of `docs/deploy`, reading that server five times a second. */
async function startPrometheus({ coordinator }: TestServer, folder: string): Promise<[RealProgram, string]> {
  const port = await freePort();
  copyFileSync(new URL('../../docs/deploy/prometheus/alerts.yml', import.meta.url), join(folder, 'alerts.yml'));
  const changes = { '127.0.0.1:8080': new URL(coordinator).host, 'interval: 15s': 'interval: 200ms' };
  writeFileSync(join(folder, 'prometheus.yml'), replaceIn(readDeployed('prometheus/prometheus.yml'), changes));
  const program = new RealProgram('prometheus', [
    `--config.file=${join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(folder, 'tsdb')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]);
  return [program, `http://127.0.0.1:${port}/api/v1`];
}

test(
  'Prometheus reads the server, answers each chart and finds nothing to alert of',
  {
    skip: unlessInstalled('prometheus', ['--version']),
  },
  async (t) => {
    const server = await startServer({ shards: 2 });
    t.after(async () => await server.stop());
    const { ada } = await server.people('ada', 'bob');
    const chat = await server.api<{ id: string }>(ada, 'POST', '/v1/conversations', {
      kind: 'direct',
      participants: ['bob'],
    });
    const post = { kind: 'text', body: 'Hello', client_msg_id: randomUUID() };
    assert.equal((await server.api(ada, 'POST', `/v1/conversations/${chat.body.id}/messages`, post)).status, 201);
    assert.equal((await server.api(undefined, 'GET', '/v1/inbox')).status, 401);

    const [program, api] = await startPrometheus(server, temporaryFolder(t));
    t.after(async () => await program.stop());
    const ask = async (query: string) => {
      const url = `${api}/query?query=${encodeURIComponent(query.replaceAll('$__rate_interval', '1m'))}`;
      return (
        await request<{ status: string; data?: { result: { value: [number, string] }[] }; error?: string }>('GET', url)
      ).body;
    };
    await until(async () => {
      program.assertRuns();
      const answer = await ask('count_over_time(up{job="parley"}[1m])').catch(() => undefined);
      return Number(answer?.data?.result[0]?.value[1] ?? 0) >= 3;
    }, 'Prometheus to have read the server three times');

    const text = await (await fetch(`${server.coordinator}/healthz`, { headers: { accept: 'text/plain' } })).text();
    const present = new Set([...text.matchAll(/^(parley_\w+)/gm)].map(([, name]) => name));
    let answered = 0;
    for (const expression of expressions) {
      const { data, error, status } = await ask(expression);
      assert.equal(status, 'success', `${expression}: ${error}`);
      const isThere = [...expression.matchAll(/\bparley_\w+/g)].every(([name]) => present.has(name));
      if (!isThere || expression.startsWith('changes(')) continue;
      assert.notEqual(data?.result.length, 0, expression);
      answered += 1;
    }
    assert.ok(answered > 30, `${answered} expressions had figures`);
    const rules = await until(async () => {
      const { body } = await request<Rules>('GET', `${api}/rules`);
      const found = body.data.groups.flatMap((group) => group.rules);
      return found.every(({ health }) => health !== 'unknown') && found;
    }, 'every rule to be evaluated');
    assert.deepEqual(
      rules.map(({ name }) => name),
      alertNames,
    );
    assert.deepEqual(
      rules.filter(({ health, state }) => health !== 'ok' || state === 'firing'),
      [],
    );
  },
);
