/**
 * The real nginx and the real Caddy with the configurations of `docs/deploy`, in which nothing is replaced but what a
 * machine of its own would have: ports, paths of files, and the certificate.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { makeCertificate } from '#test/support/certificate.ts';
import type { TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { freePort, RealProgram } from '#test/support/real-program.ts';

export type Layout = 'one-name' | 'three-names';

/** A proxy that is ready. The URLs are those that clients would have, with the port that it has in this test. */
export interface Proxy {
  readonly coordinator: string;
  readonly messaging: string;
  readonly calendar: string;
  /** Where it takes plain HTTP, to lead to HTTPS. */
  readonly plain: string;
  /** Everything it logged so far, of accesses and of errors. */
  readonly log: () => string;
  readonly stop: () => Promise<void>;
}

export const HOSTS = ['chat.example.org', 'messages.example.org', 'calendar.example.org'];
export const { certificate: CERTIFICATE, key: KEY } = makeCertificate(Date.now(), 30, HOSTS);

const DEPLOY = new URL('../../docs/deploy/', import.meta.url);

export function readDeployed(path: string): string {
  return readFileSync(new URL(path, DEPLOY), 'utf8');
}

/** Puts one text in the place of another wherever it stands; a text that is not there is a fault of the test. */
export function replaceIn(text: string, changes: Readonly<Record<string, string>>): string {
  return Object.entries(changes).reduce((changed, [from, to]) => {
    assert.ok(changed.includes(from), `${from} does not stand in the configuration`);
    return changed.replaceAll(from, to);
  }, text);
}

function urlsOf(layout: Layout, ports: { readonly https: number; readonly http: number }) {
  const [chat = '', messages = '', calendar = ''] = HOSTS;
  const url = (host: string) => `https://${layout === 'one-name' ? chat : host}:${ports.https}`;
  return {
    coordinator: url(chat),
    messaging: url(messages),
    calendar: url(calendar),
    plain: `http://${chat}:${ports.http}`,
  };
}

/** The ports of the services as the configurations have them → as this server has them. */
function servicesOf(server: TestServer): Record<string, string> {
  const { calendar, coordinator, messaging } = server;
  return {
    ':8080': `:${new URL(coordinator).port}`,
    ':8081': `:${new URL(messaging).port}`,
    ':8082': `:${new URL(calendar).port}`,
  };
}

async function takesConnections(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

async function ready(program: RealProgram, port: number): Promise<void> {
  await until(async () => {
    program.assertRuns();
    return await takesConnections(port);
  }, 'the proxy to listen');
}

/** What stands behind nginx: one server, or the hosts of a cluster as its documents have them. */
function upstreamsOf(servers: readonly TestServer[]): string {
  const text = readDeployed('nginx/parley-upstreams.conf');
  const [first, ...others] = servers as [TestServer, ...TestServer[]];
  if (others.length === 0) return replaceIn(text, servicesOf(first));
  const [, options = ''] = /server 10\.0\.0\.11:8081 (.+);/.exec(readDeployed('../operations/cluster.md')) ?? [];
  assert.notEqual(options, '', 'the documents say how a host is named to nginx');
  const lines = Object.keys(servicesOf(first)).map((port) => {
    const hosts = servers.map((server) => `server 127.0.0.1${servicesOf(server)[port]} ${options};`);
    return [`server 127.0.0.1${port};`, hosts.join('\n    ')];
  });
  return replaceIn(text, Object.fromEntries(lines) as Record<string, string>);
}

/** nginx over `folder`, which is empty, in front of one server or of the hosts of a cluster. */
export async function startNginx(
  behind: TestServer | readonly TestServer[],
  layout: Layout,
  folder: string,
): Promise<Proxy> {
  const servers = Array.isArray(behind) ? (behind as readonly TestServer[]) : [behind as TestServer];
  const [https, http] = [await freePort(), await freePort()];
  const at = (name: string) => join(folder, name);
  const site = replaceIn(readDeployed(`nginx/${layout}.conf`), {
    'listen 443 ssl': `listen 127.0.0.1:${https} ssl`,
    'listen 80;': `listen 127.0.0.1:${http};`,
    // A machine of a test may have no IPv6.
    'listen [::]:443 ssl http2;': '',
    'listen [::]:80;': '',
    '/etc/letsencrypt/live/chat.example.org/fullchain.pem': at('fullchain.pem'),
    '/etc/letsencrypt/live/chat.example.org/privkey.pem': at('privkey.pem'),
    '/etc/nginx/snippets': folder,
    '/var/log/nginx': folder,
  });
  writeFileSync(at('parley.conf'), site);
  writeFileSync(at('parley-proxy.conf'), readDeployed('nginx/parley-proxy.conf'));
  writeFileSync(at('parley-upstreams.conf'), upstreamsOf(servers));
  writeFileSync(at('fullchain.pem'), CERTIFICATE);
  writeFileSync(at('privkey.pem'), KEY);
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const main = [
    ...(process.getuid?.() === 0 ? ['user root;'] : []),
    `daemon off; pid ${at('pid')}; worker_processes 1; events {}`,
    `http { ${kinds.map((kind) => `${kind}_temp_path ${at(kind)};`).join(' ')} access_log off;`,
    `include ${at('parley-upstreams.conf')}; include ${at('parley.conf')}; }`,
  ];
  writeFileSync(at('nginx.conf'), main.join('\n'));
  const program = new RealProgram('nginx', ['-p', folder, '-c', at('nginx.conf'), '-e', 'stderr']);
  await ready(program, https);
  return {
    ...urlsOf(layout, { https, http }),
    log: () => {
      const logs = readdirSync(folder).filter((name) => name.endsWith('.log'));
      return [program.said, ...logs.map((name) => readFileSync(at(name), 'utf8'))].join('\n');
    },
    stop: async () => await program.stop(),
  };
}

/** Caddy over `folder`, which is empty. */
export async function startCaddy(server: TestServer, layout: Layout, folder: string): Promise<Proxy> {
  const [https, http] = [await freePort(), await freePort()];
  const at = (name: string) => join(folder, name);
  writeFileSync(at('fullchain.pem'), CERTIFICATE);
  writeFileSync(at('privkey.pem'), KEY);
  mkdirSync(at('home'));
  const opening = layout === 'one-name' ? '.example.org} ' : '.example.org ';
  const file = replaceIn(readDeployed(`caddy/${layout}.caddyfile`), {
    ...servicesOf(server),
    '{\n\t# What stands': `{\n\tadmin off\n\thttp_port ${http}\n\thttps_port ${https}\n\tdefault_bind 127.0.0.1\n\t# What stands`,
    [`${opening}{\n`]: `${opening}{\n\ttls ${at('fullchain.pem')} ${at('privkey.pem')}\n`,
  });
  writeFileSync(at('Caddyfile'), file);
  const home = { HOME: at('home'), XDG_DATA_HOME: at('home'), XDG_CONFIG_HOME: at('home') };
  const program = new RealProgram('caddy', ['run', '--config', at('Caddyfile'), '--adapter', 'caddyfile'], home);
  await ready(program, https);
  return {
    ...urlsOf(layout, { https, http }),
    log: () => program.said,
    stop: async () => await program.stop(),
  };
}

/** HAProxy over `folder`, which is empty, in front of one server or of the hosts of a cluster. It has one layout. */
export async function startHaproxy(
  behind: TestServer | readonly TestServer[],
  layout: Layout,
  folder: string,
): Promise<Proxy> {
  assert.equal(layout, 'one-name');
  const servers = Array.isArray(behind) ? (behind as readonly TestServer[]) : [behind as TestServer];
  const [https, http] = [await freePort(), await freePort()];
  const at = (name: string) => join(folder, name);
  writeFileSync(at('parley.pem'), `${CERTIFICATE}${KEY}`);
  const lines = Object.keys(servicesOf(servers[0] as TestServer)).map((port) => {
    const hosts = servers.map((server, number) => `server host-${number} 127.0.0.1${servicesOf(server)[port]}`);
    // Hosts of machines of their own differ in their addresses, and these in their ports.
    return [['server one "$', `{PARLEY_HOST_ONE-127.0.0.1}${port}"`].join(''), hosts.join('\n    ')];
  });
  const file = replaceIn(readDeployed('haproxy/haproxy.cfg'), {
    ...(Object.fromEntries(lines) as Record<string, string>),
    'bind :443': `bind 127.0.0.1:${https}`,
    'bind :80': `bind 127.0.0.1:${http}`,
    '/etc/haproxy': folder,
    'maxconn 100000': 'maxconn 1000',
  });
  writeFileSync(at('haproxy.cfg'), file);
  const program = new RealProgram('haproxy', ['-db', '-f', at('haproxy.cfg')], { PARLEY_PROXY_LOG: 'stdout' });
  await ready(program, https);
  return {
    ...urlsOf(layout, { https, http }),
    log: () => program.said,
    stop: async () => await program.stop(),
  };
}
