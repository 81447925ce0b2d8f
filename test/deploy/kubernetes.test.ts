/**
 * The manifests for Kubernetes, without one: held against Kubernetes' own types, against the server's settings, ports and paths, and
 * against each other; and their pods started in namespaces as they say (pods.ts).
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { StatefulSet } from 'kubernetes-types/apps/v1.js';
import type { Container, Service } from 'kubernetes-types/core/v1.js';
import type { NetworkPolicy } from 'kubernetes-types/networking/v1.js';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.js';
import { SETTINGS, variableOf } from '#src/config.ts';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { request, startServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { TAKEOVER_MILLIS } from '../cluster/hosts.ts';
import { Composition } from './containers.ts';
import { insideFolder, passInside, prepareDeploy, publish, unlessStartable } from './namespaces.ts';
import { isWorkload, kubectlInto, podsOf, readManifests, templateOf, type Manifest } from './pods.ts';
import { readDeployed } from './proxy.ts';
import { RemoteClient } from './remote-client.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FILES = readManifests(join(ROOT, 'docs/deploy/kubernetes'));
/** In the order in which the page has them applied. */
const all = ['nats.yaml', 'parley.yaml', 'haproxy.yaml'].flatMap((file) => FILES.get(file) ?? []);
const workloads = all.filter(isWorkload);
const page = readDeployed('kubernetes/README.md');
const folder = insideFolder ?? mkdtempSync(join(tmpdir(), 'parley-kubernetes-'));

const skip = unlessStartable();

function containerOf(name: string): Container {
  const workload = workloads.find((one) => one.metadata?.name === name);
  return (workload && templateOf(workload).spec?.containers[0]) as Container;
}

/** Makes secrets and configurations by the commands of the page; answers the folder that has them by kind and name. */
function makeObjects(): string {
  const objects = join(folder, 'objects');
  prepareDeploy(folder, {
    page,
    prelude: kubectlInto(objects),
    until: 'kubectl apply',
    where: 'docs/deploy/kubernetes',
  });
  return objects;
}

/** Which of the rules for types TypeScript finds broken, in a file that says what each manifest is. */
function typeFaults(manifests: readonly Manifest[]): string {
  const lines = manifests.map((one, at) => {
    const [group = ''] = (one.apiVersion as string).split('/v1').map((part) => part.replace(/\..*$/, ''));
    const path = group === 'v1' ? 'core' : group;
    return `export const m${at}: import('kubernetes-types/${path}/v1.js').${one.kind} = ${JSON.stringify(one)};`;
  });
  // Within the project, where the package is found.
  const place = mkdtempSync(join(ROOT, 'node_modules/.cache-manifests-'));
  try {
    writeFileSync(join(place, 'manifests.ts'), lines.join('\n'));
    const tsc = join(ROOT, 'node_modules/.bin/tsc');
    const args = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--types', '', '--ignoreConfig'];
    return spawnSync(tsc, [...args, join(place, 'manifests.ts')], { encoding: 'utf8' }).stdout;
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

if (insideFolder === undefined) {
  after(() => rmSync(folder, { recursive: true, force: true }));
  addTestsOfTheFiles();
  test(
    'CLU-01 pods as the manifests have them serve people, and go on with the first host killed',
    { skip },
    async () => await passInside(folder, 1),
  );
} else addTestInside();

function addTestsOfTheFiles(): void {
  describe('the manifests for Kubernetes', () => {
    it('are what Kubernetes has types for, and a field that it does not know is found', () => {
      assert.equal(typeFaults(all), '');
      const set = all.find((one) => one.kind === 'StatefulSet') as StatefulSet;
      assert.match(typeFaults([{ ...set, spec: { ...set.spec, replicass: 3 } } as Manifest]), /replicass/);
    });

    it('are all applied, and of kinds that were looked at', () => {
      assert.deepEqual([...FILES.keys()].toSorted(), ['haproxy.yaml', 'nats.yaml', 'parley.yaml']);
      for (const file of FILES.keys()) assert.ok(page.includes(`-f ${file}`), file);
      const kinds = new Set(all.map(({ kind }) => kind));
      assert.deepEqual(
        kinds,
        new Set(['Service', 'StatefulSet', 'PodDisruptionBudget', 'NetworkPolicy', 'Deployment']),
      );
    });

    it('tell every program variables that it reads', () => {
      const told = (name: string) => (containerOf(name).env ?? []).map((one) => one.name);
      const known = Object.keys(SETTINGS).map(variableOf);
      assert.deepEqual(
        told('parley').filter((name) => !known.includes(name)),
        [],
      );
      const text = readDeployed('nats/accounts.conf') + readDeployed('haproxy/haproxy.cfg');
      for (const name of [...told('nats'), ...told('parley-haproxy')].filter((one) => one.startsWith('PARLEY_')))
        assert.match(text, new RegExp(`\\$\\{?${name}\\b`));
    });

    it('have the ports of the server, and paths that answer on them', async (t) => {
      const server = await startServer({ shards: 2 });
      t.after(async () => await server.stop());
      const { livenessProbe, ports = [], readinessProbe, startupProbe } = containerOf('parley');
      const services = { coordinator: server.coordinator, messaging: server.messaging, calendar: server.calendar };
      assert.deepEqual(Object.fromEntries(ports.map(({ containerPort, name }) => [name, containerPort])), {
        coordinator: SETTINGS.coordinatorPort.default,
        messaging: SETTINGS.messagingPort.default,
        calendar: SETTINGS.calendarPort.default,
      });
      for (const probe of [livenessProbe, readinessProbe, startupProbe]) {
        const { path, port } = probe?.httpGet ?? {};
        const reply = await request('GET', `${services[port as keyof typeof services]}${path}`);
        assert.equal(reply.status, 200, reply.text);
      }
      const headless = all.filter((one): one is Service => one.kind === 'Service');
      for (const { spec } of headless) {
        const pod = workloads.find((one) => templateOf(one).metadata?.labels?.['app'] === spec?.selector?.['app']);
        const open = containerOf(pod?.metadata?.name as string).ports ?? [];
        for (const { name, port, targetPort = port } of spec?.ports ?? []) {
          assert.ok(
            open.some((one) => one.name === targetPort || one.containerPort === targetPort),
            `${name}`,
          );
        }
      }
    });

    it('give a host the time that a stop takes', () => {
      const parley = workloads.find((one) => one.metadata?.name === 'parley');
      const { terminationGracePeriodSeconds = 30 } = (parley && templateOf(parley).spec) ?? {};
      assert.ok(terminationGracePeriodSeconds > 2 * SETTINGS.drainSeconds.default);
    });

    it('mean pods that there are, by every selector', () => {
      const apps = new Set(workloads.map((one) => templateOf(one).metadata?.labels?.['app']));
      for (const one of all) {
        const { metadata, spec } = one as NetworkPolicy & PodDisruptionBudget & Service;
        const policies = (spec?.ingress ?? []).flatMap(({ from = [] }) => from.map((peer) => peer.podSelector));
        const selectors = [
          one.kind === 'Service' ? { matchLabels: spec?.selector } : undefined,
          spec?.podSelector,
          ...policies,
        ];
        if (one.kind === 'PodDisruptionBudget' || isWorkload(one))
          selectors.push((spec as { selector: object }).selector);
        const found = selectors.flatMap(
          (selector) => (selector as { matchLabels?: { app?: string } })?.matchLabels?.app ?? [],
        );
        assert.ok(found.length > 0 && found.every((app) => apps.has(app)), metadata?.name);
      }
      for (const { spec } of workloads.filter((one): one is StatefulSet => one.kind === 'StatefulSet')) {
        assert.ok(all.some((one) => one.kind === 'Service' && one.metadata?.name === spec?.serviceName));
      }
    });

    it('mount what the commands of their page make, which are files of docs/deploy', () => {
      const objects = makeObjects();
      const used = workloads.flatMap((one) => templateOf(one).spec?.volumes ?? []);
      const named = used.flatMap(({ configMap, secret }) => [
        ...(configMap === undefined ? [] : [`configmap/${configMap.name}`]),
        ...(secret === undefined ? [] : [`secret/${secret.secretName}`]),
      ]);
      const made = ['configmap', 'secret'].flatMap((kind) =>
        readdirSync(join(objects, kind)).map((name) => `${kind}/${name}`),
      );
      assert.deepEqual(new Set(named), new Set(made));
      for (const [name, from] of [
        ['parley-nats', 'nats'],
        ['parley-haproxy', 'haproxy'],
      ] as const) {
        for (const file of readdirSync(join(objects, 'configmap', name)))
          assert.equal(readFileSync(join(objects, 'configmap', name, file), 'utf8'), readDeployed(`${from}/${file}`));
      }
    });
  });
}

/** The pods as they run; to be called within namespaces of its own. */
function addTestInside(): void {
  describe('pods as the manifests have them', () => {
    const client = new RemoteClient('127.0.0.1');
    const site = 'https://chat.example.org';
    let composition: Composition;

    before(async () => {
      const machine = join(folder, 'machine');
      mkdirSync(machine);
      const objects = makeObjects();
      const own = [...readManifests(join(folder, 'docs/deploy/kubernetes')).entries()];
      const ordered = ['nats.yaml', 'parley.yaml', 'haproxy.yaml'].flatMap(
        (name) => own.find(([file]) => file === name)?.[1] ?? [],
      );
      composition = await Composition.up(podsOf(ordered, objects, join(machine, 'volumes')), machine);
      await publish(443, composition.addressOf('parley-haproxy', 'pods'));
    });

    after(async () => {
      client.close();
      await composition?.down();
    });

    it('somebody posts at one host, reads at the other, and goes on over HAProxy with the first one killed', async () => {
      const messagingOf = (pod: string) => `http://${composition.addressOf(pod, 'pods')}:8081`;
      composition.exec('parley-0', ['node', 'src/cli/parley.ts', 'user', 'add', 'ann'], 'a long password of ann\n');
      const body = { username: 'ann', password: 'a long password of ann' };
      const signedIn = await until(
        async () => {
          const reply = await client.call('POST', `${site}/v1/auth/login`, { body });
          return reply.status === 200 && reply;
        },
        'somebody to be let in',
        TAKEOVER_MILLIS,
      );
      const { token } = JSON.parse(signedIn.text) as Session;
      const room = { kind: 'room', title: 'Pods', participants: [] };
      const made = await client.call('POST', `${site}/v1/conversations`, { token, body: room });
      assert.equal(made.status, 201, made.text);
      const path = `/v1/conversations/${(JSON.parse(made.text) as { id: string }).id}/messages`;
      const form = (text: string) => ({ kind: 'text', body: text, client_msg_id: randomUUID() });
      const posted = await request('POST', `${messagingOf('parley-1')}${path}`, { token, body: form('at the second') });
      assert.equal(posted.status, 201, posted.text);
      const texts = async (host: string) => {
        const read = await request<{ items: { body: string }[] }>('GET', `${host}${path}?after_seq=0`, { token });
        assert.equal(read.status, 200, read.text);
        return read.body.items.map((item) => item.body);
      };
      assert.deepEqual(await texts(messagingOf('parley-0')), ['at the second']);
      await composition.kill('parley-0');
      const last = form('behind the first');
      const isAcknowledged = async () => {
        const reply = await client.call('POST', `${site}${path}`, { token, body: last }).catch(() => undefined);
        assert.ok(reply === undefined || [200, 201, 502, 503, 504].includes(reply.status), reply?.text);
        return reply !== undefined && reply.status < 300;
      };
      await until(isAcknowledged, 'a post to be acknowledged', TAKEOVER_MILLIS);
      assert.deepEqual(await texts(messagingOf('parley-1')), ['at the second', 'behind the first']);
    });
  });
}
