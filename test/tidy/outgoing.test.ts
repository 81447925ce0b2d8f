/** Holds that every connection which the server makes goes through the one guard, `src/outgoing`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { skeletonOf, typescriptSources } from './source.ts';

/** Names of the platform by which a connection is made; servers, types and checks of addresses make none. */
const CONNECTING = new Set([
  'Agent',
  'ClientRequest',
  'Socket',
  'connect',
  'createConnection',
  'createSocket',
  'get',
  'request',
]);
const PLATFORM = new Set(['node:dgram', 'node:http', 'node:http2', 'node:https', 'node:net', 'node:tls']);
/** Packages that connect by themselves. */
const LIBRARIES = new Set([
  '@aws-sdk/client-s3',
  '@nats-io/transport-node',
  '@smithy/node-http-handler',
  'ldapts',
  'nodemailer',
  'openid-client',
  'undici',
  'web-push',
  'ws',
  'socket.io-client',
]);

/** Source → why it connects, or loads what does, outside of the guard. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'src/cli/control-client.ts': 'the control socket of the data folder',
  'src/cluster/pass-through.ts': 'the host that leads, by the address that the hosts of the cluster say',
  'src/identity/ldap/ldap-directory.ts':
    'filters and errors of the library; its connections are those of src/outgoing/ldap.ts',
  'src/identity/single-sign-on/sign-on-walks.ts': 'random texts and nothing else',
  'src/identity/single-sign-on/sign-on.ts': 'the library is given the fetch of the guard by sso-provider.ts',
  'src/identity/single-sign-on/single-sign-on.ts': 'the library is given the fetch of the guard by sso-provider.ts',
  'src/identity/single-sign-on/sso-provider.ts': 'gives the library the fetch of the guard',
  'src/identity/single-sign-on/sso-tickets.ts': 'random texts and nothing else',
  'src/mail/transport.ts': 'the options of the guard, whose sockets they are',
  'src/messaging/attachments/virus-scan.ts': 'clamd, which the operator names in the configuration of this host',
  'src/node-agent/coordinator-client.ts': 'the agent, which runs on other hosts and knows one coordinator',
  'src/push/apns.ts': 'HTTP/2, by the host check and the lookup of the guard',
  'src/push/web-push.ts': 'the library encrypts; the guard sends',
  'storage/engine/folder.ts': 'the lock of the data folder',
  'storage/stream/subject-writer.ts': 'headers and nothing else',
  'storage/stream/stream-connection.ts': 'NATS, which the operator names in the configuration of this host',
};

/** Not the server: what runs in browsers and in clients. */
const isElsewhere = (path: string) =>
  /^(?:src\/client|src\/console\/web|src\/web|src\/outgoing|test|bench)\//.test(path);

/** What a source connects with. */
function connectionsOf(text: string): string[] {
  const imports = [...text.matchAll(/^import (?!type\b)([^;]+?) from '([^']+)';/gm)];
  const found = imports.flatMap(([, what = '', from = '']) => {
    if (LIBRARIES.has(from)) return [from];
    if (!PLATFORM.has(from)) return [];
    const names = what
      .replaceAll(/[{}\s]/g, ' ')
      .split(',')
      .map((name) => name.trim());
    // A whole module could be asked for anything.
    return names.filter(
      (name) => !name.startsWith('type ') && (CONNECTING.has(name.split(' ')[0] ?? '') || name.startsWith('*')),
    );
  });
  // Loaded by whoever needs it, and not at a start.
  for (const [, what, builtin] of text.matchAll(/(?:\{([^{}]*)\} = )?process\.getBuiltinModule\('([^']+)'\)/g)) {
    if (!PLATFORM.has(builtin ?? '')) continue;
    const names = what?.split(',').map((name) => name.trim().split(':')[0] ?? '') ?? ['*'];
    found.push(...names.filter((name) => name === '*' || CONNECTING.has(name)));
  }
  for (const [, from = ''] of text.matchAll(/\bimport\('([^']+)'\)/g)) if (LIBRARIES.has(from)) found.push(from);
  const { code } = skeletonOf(text);
  const calls = /(?<![\w.#])(?:fetch|new (?:WebSocket|EventSource))\(/.exec(code);
  return calls === null ? found : [...found, calls[0]];
}

test('every connection of the server goes through src/outgoing', () => {
  const sources = new Map([...typescriptSources()].filter(([path]) => !isElsewhere(path)));
  const connecting = [...sources].filter(([, text]) => connectionsOf(text).length > 0).map(([path]) => path);
  assert.deepEqual(connecting.toSorted(), Object.keys(EXCEPTIONS).toSorted());
  for (const path of ['src/push/apns.ts', 'src/mail/transport.ts', 'src/identity/single-sign-on/sso-provider.ts']) {
    assert.match(sources.get(path) ?? '', /from '#src\/outgoing\//, path);
  }
});

test('a source that connects by itself is found', () => {
  const bad = [
    "import { request } from 'node:https';",
    "import { connect as dial, type Socket } from 'node:net';",
    "import * as http from 'node:http';",
    "import { Agent } from 'undici';",
    "const answer = await fetch('https://example.org');",
    'const socket = new WebSocket(url);',
    "const { createTransport } = await import('nodemailer');",
    "const { request: ask } = process.getBuiltinModule('node:https');",
    "readonly #http2 = process.getBuiltinModule('node:http2');",
  ];
  for (const text of bad) assert.equal(connectionsOf(text).length, 1, text);
  const good = [
    "import { createServer, type Socket } from 'node:net';",
    "import type { Agent } from 'node:https';",
    "import { isIP } from 'node:net';",
    'const { fetch } = options;\nawait this.fetch(url);',
    "const { createServer } = process.getBuiltinModule('node:http');",
  ];
  for (const text of good) assert.deepEqual(connectionsOf(text), [], text);
});
