/**
 * The package `parley-client`, as another project has it: installed from its tarball into an empty folder, compiled strictly, bundled,
 * and run by Node and by a browser against a real server.
 */
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { say, start } from '#test/messaging/conversing.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { CHROMIUM, People } from '#test/web/browser.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const NO_CHROMIUM = CHROMIUM === undefined && 'no Chromium on this machine';

/** What an application writes: everything that it uses has a type, and none of them is `any`. */
const APPLICATION = `
import { CLIENT_ERRORS, ParleyClient, ParleyError, translate, type ChatMessage, type ClientOptions } from 'parley-client';
import { Bot, deliveryReceiver, outboxFile } from 'parley-client/bot';
import { ParleyProvider, useConversation, useConversations, usePersonName } from 'parley-client/react';

type IsAny<T> = 0 extends 1 & T ? true : false;
const no = <T extends false>(isAny: T): T => isAny;

export async function run(options: ClientOptions): Promise<ChatMessage> {
  const client = await ParleyClient.signIn({ ...options, username: 'alice', password: 'x' });
  client.on('message.new', ({ data, at }) => {
    no<IsAny<typeof data>>(false);
    console.log(at.toFixed(), data.sender.length);
  });
  const rooms = await client.browseRooms({ q: 'x' });
  no<IsAny<(typeof rooms.items)[number]>>(false);
  const rights = await client.capabilities();
  no<IsAny<typeof rights>>(false);
  // @ts-expect-error A room has no such field.
  await client.createRoom({ nothing: 1 });
  // @ts-expect-error There is no such event.
  client.on('message.old', () => undefined);
  return await client.post('c_x', { kind: 'text', body: 'hello' });
}

export function Room({ id }: { id: string }) {
  const { messages, error } = useConversation(id);
  const name = usePersonName(messages[0]?.sender ?? '');
  return error === undefined ? name + useConversations().length : translate(error, 'ru');
}

export const bot = (options: ClientOptions) =>
  new Bot({ ...options, token: 't', user: 'bot.x', deviceId: 'd', store: outboxFile('outbox.json') })
    .command('echo', { description: 'Says it again' }, async ({ args, reply }) => await reply(args))
    .onMessage(({ message }) => message.seq);
export const receive = deliveryReceiver({ secret: 's', onDelivery: ({ event }) => event.type });
export const words: string = CLIENT_ERRORS.network_failed + new ParleyError('x', 'y').code + String(ParleyProvider);
`;

/** Signs in, posts and hears: the same text runs in Node and in a page, which differ in where the module is. */
const CHAT = (module: string, urls: object, room: string) => `
import { ParleyClient } from '${module}';
const client = await ParleyClient.signIn({ ...${JSON.stringify(urls)}, username: 'alice', password: 'password of alice' });
await client.caughtUp();
const heard = new Promise((resolve) => client.on('message.new', ({ data }) => data.sender === 'bob' && resolve(data.body)));
const { seq } = await client.post('${room}', 'from the package');
globalThis.said = (async () => ({ seq, heard: await heard }))();
`;

let folder: string;
let project: string;
let pages: Server;
let server: TestServer;
let alice: Person;
let bob: Person;
let printed: string;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parley-test-'));
  project = join(folder, 'project');
  mkdirSync(project);
  // Serves the project: a page of an origin that the server knows.
  pages = createServer((request, response) => {
    const path = join(project, new URL(request.url ?? '/', 'http://page').pathname);
    if (!existsSync(path)) {
      response.writeHead(404).end();
      return;
    }
    response.setHeader('content-type', path.endsWith('.js') ? 'text/javascript' : 'text/html').end(readFileSync(path));
  });
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
  server = await startServer({ shards: 2, environment: { PARLEY_ALLOWED_ORIGINS: origin() } });
  ({ alice, bob } = await server.people('alice', 'bob'));
  printed = execFileSync('npm', ['run', '--silent', 'pack:client'], { cwd: ROOT, encoding: 'utf8' });
  const [tarball = ''] = printed.split('\n');
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'project', private: true, type: 'module' }));
  const install = ['install', '--offline', '--no-audit', '--no-fund', join(ROOT, tarball)];
  execFileSync('npm', install, { cwd: project, stdio: 'pipe' });
});
after(async () => {
  pages?.close();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const origin = () => `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
const urls = () => ({ coordinatorUrl: server.coordinator, messagingUrl: server.messaging });

test('WEB-02 it installs without any other package, and says what a page loads of it', () => {
  assert.deepEqual(
    readdirSync(join(project, 'node_modules')).filter((name) => !name.startsWith('.')),
    ['parley-client'],
  );
  assert.match(printed, /^build\/parley-client-\d+\.\d+\.\d+\.tgz\nmain: \d+\.\d KB gzipped\n/);
  const files = readdirSync(join(project, 'node_modules', 'parley-client'));
  for (const name of ['main', 'bot', 'react']) {
    for (const ending of ['js', 'js.map', 'd.ts']) assert.ok(files.includes(`${name}.${ending}`), `${name}.${ending}`);
  }
  const sources = files.filter((name) => /\.js$|\.d\.ts$/.test(name));
  const texts = sources.map((name) => readFileSync(join(project, 'node_modules', 'parley-client', name), 'utf8'));
  const imported = new Set(texts.flatMap((text) => [...text.matchAll(/from "([^."][^"]*)"/g)].map(([, name]) => name)));
  assert.deepEqual(imported, new Set(['node:fs/promises', 'react']));
});

test('WEB-02 a strict project compiles against its types, which refuse what is wrong', () => {
  // Types of React are the project's affair, as React is.
  mkdirSync(join(project, 'node_modules', '@types'));
  for (const name of ['react', '@types/react', '@types/node']) link(name);
  const compilerOptions = {
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    verbatimModuleSyntax: true,
    skipLibCheck: false,
    module: 'nodenext',
    target: 'es2023',
    lib: ['es2024', 'esnext', 'dom', 'dom.iterable', 'dom.asynciterable'],
    noEmit: true,
    types: [],
  };
  // What its README shows compiles as well.
  const readme = readFileSync(join(project, 'node_modules', 'parley-client', 'README.md'), 'utf8');
  const shown = [...readme.matchAll(/^```ts\n(.*?)^```/gms)].map(([, source = '']) => source);
  assert.equal(shown.length, 5);
  const files = [APPLICATION, ...shown].map((source, at) => {
    writeFileSync(join(project, `application-${at}.ts`), source);
    return `application-${at}.ts`;
  });
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  execFileSync(join(ROOT, 'node_modules', '.bin', 'tsc'), ['-p', project], { stdio: 'pipe' });
});

test('WEB-02 Vite bundles it, and a page that uses nothing of it carries nothing of it', async () => {
  const { build } = await import('vite');
  const sizeOf = async (source: string) => {
    writeFileSync(join(project, 'entry.js'), source);
    const input = join(project, 'entry.js');
    const outDir = join(project, 'dist');
    const options = { outDir, emptyOutDir: true, minify: true, rolldownOptions: { input } };
    await build({ root: project, configFile: false, logLevel: 'silent', build: options });
    return Math.max(
      ...readdirSync(join(outDir, 'assets')).map((name) => readFileSync(join(outDir, 'assets', name)).length),
    );
  };
  const all = await sizeOf("import { ParleyClient } from 'parley-client'; globalThis.x = ParleyClient;");
  const one = await sizeOf("import { isTransient } from 'parley-client'; globalThis.x = isTransient;");
  assert.ok(one < all / 20, `${one} of ${all} bytes`);
});

test('WEB-02 Node runs it: it signs in, posts, and hears another', async () => {
  const { id } = await start(server, alice, 'room', ['bob']);
  writeFileSync(
    join(project, 'chat.js'),
    `${CHAT('parley-client', urls(), id)}\nconsole.log(JSON.stringify(await said));\nclient.close();`,
  );
  const run = promisify(execFile)(process.execPath, ['chat.js'], { cwd: project });
  await saidIn(id);
  await say(server, bob, id, 'to Node');
  assert.equal((JSON.parse((await run).stdout) as { heard: string }).heard, 'to Node');
});

test('WEB-02 a page runs it as a module, from another origin', { skip: NO_CHROMIUM }, async () => {
  const { id } = await start(server, alice, 'room', ['bob']);
  const script = CHAT('/node_modules/parley-client/main.js', urls(), id);
  writeFileSync(join(project, 'page.html'), `<!doctype html><script type=module>${script}</script>`);
  const people = await People.start();
  try {
    const page = await people.person();
    await page.goto(`${origin()}/page.html`);
    await saidIn(id);
    await say(server, bob, id, 'to the page');
    assert.equal(await page.evaluate<string>('said.then(({ heard }) => heard)'), 'to the page');
    assert.deepEqual(people.complaints, []);
  } finally {
    await people.stop();
  }
});

/** A page of React: what it shows follows the client. */
const SCREEN = (urlsOf: object, room: string) => `
import { createElement as draw } from 'react';
import { createRoot } from 'react-dom/client';
import { ParleyClient } from 'parley-client';
import { ParleyProvider, useConversation, useConversations, useIsConnected, usePersonName } from 'parley-client/react';
const client = await ParleyClient.signIn({ ...${JSON.stringify(urlsOf)}, username: 'alice', password: 'password of alice' });
let drawn = 0;
function Words() {
  drawn += 1;
  const { messages, error } = useConversation('${room}');
  return draw('p', { id: 'words' }, messages.map(({ body }) => body).join() + (error?.code ?? ''));
}
function Missing() {
  const { error } = useConversation('c_0000000000000000000000');
  return draw('p', { id: 'missing' }, error?.code);
}
function Others() {
  const [name, list, isConnected] = [usePersonName('bob'), useConversations(), useIsConnected()];
  return draw('p', { id: 'others' }, [name, list.length, list[0]?.id === '${room}', isConnected].join());
}
globalThis.drawnTimes = () => drawn;
const root = createRoot(document.body);
root.render(draw(ParleyProvider, { client }, draw(Words), draw(Missing), draw(Others)));
`;

test('WEB-02 components of React show what the client has, and what happens', { skip: NO_CHROMIUM }, async () => {
  const other = await start(server, alice, 'room', ['bob']);
  const { id } = await start(server, alice, 'room', ['bob']);
  await say(server, bob, id, 'before');
  for (const name of ['react', 'react-dom', 'scheduler']) link(name);
  writeFileSync(join(project, 'screen.js'), SCREEN(urls(), id));
  const { build } = await import('vite');
  const options = { outDir: join(project, 'screen'), rolldownOptions: { input: join(project, 'screen.js') } };
  await build({ root: project, configFile: false, logLevel: 'silent', build: options });
  const [script = ''] = readdirSync(join(project, 'screen', 'assets'));
  const html = `<!doctype html><body></body><script type=module src=/screen/assets/${script}></script>`;
  writeFileSync(join(project, 'screen.html'), html);
  const people = await People.start();
  try {
    const page = await people.person();
    await page.goto(`${origin()}/screen.html`);
    const shows = async (place: string, text: string) =>
      await page.locator(place).getByText(text, { exact: true }).waitFor();
    await page.locator('#words').getByText('before').waitFor();
    await shows('#missing', 'conversation_forbidden');
    const listed = await server.api<{ items: object[] }>(alice, 'GET', '/v1/inbox');
    await shows('#others', `bob,${listed.body.items.length},true,true`);
    await say(server, bob, id, 'now');
    await shows('#words', 'before,now');
    // What happens elsewhere moves the list, and does not draw this conversation again.
    const drawn = await page.evaluate<number>('drawnTimes()');
    await say(server, bob, other.id, 'elsewhere');
    await shows('#others', `bob,${listed.body.items.length},false,true`);
    assert.equal(await page.evaluate<number>('drawnTimes()'), drawn);
    assert.deepEqual(people.complaints, []);
  } finally {
    await people.stop();
  }
});

/** Has a package of this project in that one. */
function link(name: string): void {
  const place = join(project, 'node_modules', name);
  if (!existsSync(place)) symlinkSync(join(ROOT, 'node_modules', name), place);
}

/** Waits until the package has posted. */
async function saidIn(room: string): Promise<void> {
  const path = `/v1/conversations/${room}/messages`;
  const read = async () => (await server.api<{ items: { body: string }[] }>(bob, 'GET', path)).body.items;
  await until(async () => (await read()).some(({ body }) => body === 'from the package'), 'what the package says');
}
