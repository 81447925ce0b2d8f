/**
 * The service worker against whoever sends it pushes, whoever uses the browser next, and whoever uploads what could be a worker: no
 * word of one person is shown or kept for another, nothing leads out of the app, and no file of a person's is a script.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import type { Page, Worker } from 'playwright-core';
import { attach, upload } from '#test/messaging/attaching.ts';
import { say, start } from '#test/messaging/conversing.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { openRow, signIn } from './app-page.ts';
import { CHROMIUM, People } from './browser.ts';
import { buildApp } from './built-app.ts';

/** In the place of the browser's push service, which a browser without a head has none of: whether there is a subscription. */
const PUSH_SERVICE = `
  PushManager.prototype.getSubscription = async () => localStorage.getItem('test.push') === null ? null : {
    unsubscribe: async () => { localStorage.removeItem('test.push'); return true; },
  };`;
/** A page of the origin with nothing of the app on it. */
const ELSEWHERE = '/v1/meetings/join/none';

let server: TestServer;
let people: People;
before(async () => {
  buildApp();
  server = await startServer();
  people = await People.start({ whole: true });
});
after(async () => {
  await people?.stop();
  await server?.stop();
});

interface Shown {
  readonly title: string;
  readonly body: string;
}

/** A browser with somebody signed in, and its worker. */
class Browser {
  readonly page: Page;
  readonly #registration: Promise<string>;
  readonly #send: (method: string, params: object) => Promise<unknown>;

  private constructor(page: Page, registration: Promise<string>, send: Browser['send']) {
    this.page = page;
    this.#registration = registration;
    this.#send = send;
  }

  static async of(username: string): Promise<Browser> {
    const page = await people.person();
    const context = page.context();
    await context.grantPermissions(['notifications'], { origin: server.coordinator });
    await context.addInitScript(PUSH_SERVICE);
    const devtools = await context.newCDPSession(page);
    const registration = new Promise<string>((resolve) => {
      devtools.on('ServiceWorker.workerVersionUpdated', ({ versions }) => {
        const active = versions.find(({ status }) => status === 'activated');
        if (active !== undefined) resolve(active.registrationId);
      });
    });
    await devtools.send('ServiceWorker.enable');
    await signIn(server, page, username);
    await registration;
    const send = async (method: string, params: object) =>
      await (devtools.send as (name: string, form: object) => Promise<unknown>)(method, params);
    const browser = new Browser(page, registration, send);
    // Without a desktop the browser forgets what it shows, now after some seconds and now at once: what counts is what it was told to.
    await browser.inWorker(`(() => {
      const show = registration.showNotification.bind(registration);
      globalThis.shown = new Map();
      globalThis.told = 0;
      registration.showNotification = async (title, options) => {
        shown.set(options.tag, { title, body: options.body ?? '', data: options.data ?? null });
        await show(title, options);
        told += 1;
      };
    })()`);
    return browser;
  }

  get send(): (method: string, params: object) => Promise<unknown> {
    return this.#send;
  }

  async inWorker<T = unknown>(expression: string): Promise<T> {
    const worker = await until((): Worker | undefined => this.page.context().serviceWorkers()[0], 'the worker');
    return await worker.evaluate<T>(expression);
  }

  async push(payload: unknown): Promise<void> {
    const registrationId = await this.#registration;
    const data = JSON.stringify(payload);
    await this.#send('ServiceWorker.deliverPushMessage', { origin: server.coordinator, registrationId, data });
  }

  /** What is shown, once there is so much of it. */
  async showing(count: number): Promise<Shown[]> {
    let all: Shown[] = [];
    const isShown = async () => {
      all = await this.inWorker<Shown[]>('[...shown.values()].map(({ body, title }) => ({ body, title }))');
      return all.length === count && all;
    };
    return await until(isShown, `${count} notifications`).catch((error: unknown) => {
      throw new Error(`${(error as Error).message} There are: ${JSON.stringify(all)}`, { cause: error });
    });
  }

  /** Waits until so many pushes were shown, some in the place of others. */
  async told(count: number): Promise<void> {
    await until(async () => (await this.inWorker<number>('told')) >= count, `${count} pushes to be shown`);
  }

  async clear(): Promise<void> {
    await this.inWorker('shown.clear(), told = 0');
  }

  async signOut(): Promise<void> {
    await this.page.goto(`${server.coordinator}/#/settings`);
    await this.page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
    await this.page.getByLabel('Username').waitFor();
    await until(
      async () => await this.inWorker("caches.has('parley.account').then((has) => !has)"),
      'nobody to be kept',
    );
  }

  /** Every address that the browser keeps an answer for, with its text. */
  async kept(): Promise<{ store: string; url: string; text: string }[]> {
    return await this.inWorker(`(async () => {
      const found = [];
      for (const store of await caches.keys()) {
        const cache = await caches.open(store);
        for (const { url } of await cache.keys()) {
          const answer = await cache.match(url, { ignoreVary: true });
          found.push({ store, url, text: await answer.text() });
        }
      }
      return found;
    })()`);
  }
}

describe('the service worker in Chromium', { skip: CHROMIUM === undefined && 'no Chromium on this machine' }, () => {
  /** Pushes with words, as an operator may have switched on, that were on their way to somebody. */
  const wordsFor = (conversation: string, seq: number) => [
    { conversation_id: conversation, seq, text: 'Tide table' },
    { call: 'call-of-xenia', from: 'xenia', video: true, conversation_id: conversation },
    { reminder_id: 'r1', calendar_id: 'cal', entry_id: 'e', text: 'Dentist' },
    { invitation: 'c_harbour', text: 'Xenia asks you into Harbour' },
    { text: 'Whatever else' },
  ];
  const WORDS = /tide|xenia|dentist|harbour|whatever/i;

  test('FRM-05 a push that was on its way to who signed out is shown without a word, and to who signs in next as well', async () => {
    const { vera, xenia } = await server.people('vera', 'xenia', 'yara');
    const { id } = await start(server, xenia, 'direct', [vera.username]);
    const { seq } = await say(server, xenia, id, 'Tide at six');
    const browser = await Browser.of('vera');
    // It is shown whole to whom it is for.
    await browser.push({ conversation_id: id, seq, text: 'Tide table' });
    assert.deepEqual(await browser.showing(1), [{ title: 'xenia', body: 'Tide at six' }]);
    await browser.signOut();
    const left = 'registration.getNotifications().then((all) => all.length)';
    await until(async () => (await browser.inWorker<number>(left)) === 0, 'what was shown to be taken away');
    await browser.clear();
    const payloads = wordsFor(id, seq);
    for (const payload of payloads) await browser.push(payload);
    await browser.told(payloads.length);
    // What is of no kind any more takes one place.
    const shown = await browser.showing(4);
    assert.doesNotMatch(JSON.stringify(shown), WORDS);
    await browser.clear();
    // The browser was without a network when vera left, and has her subscription still.
    await browser.page.evaluate("localStorage.setItem('test.push', 'of vera')");
    await signIn(server, browser.page, 'yara');
    const isGivenUp = "localStorage.getItem('test.push') === null";
    await until(async () => await browser.page.evaluate<boolean>(isGivenUp), 'what is left of another to be given up');
    await browser.push({ conversation_id: id, seq, text: 'Tide table' });
    assert.deepEqual(await browser.showing(1), [{ title: 'New message', body: '' }]);
  });

  test('FRM-05 words that were asked for before a sign-out are not shown behind it', async () => {
    const { walt, zoe } = await server.people('walt', 'zoe');
    const { id } = await start(server, zoe, 'direct', ['walt']);
    const { seq } = await say(server, zoe, id, 'Tide at seven');
    const browser = await Browser.of(walt.username);
    await browser.inWorker(`(() => {
      const ask = globalThis.fetch;
      const { promise, resolve } = Promise.withResolvers();
      globalThis.goOn = resolve;
      globalThis.fetch = async (...request) => {
        const answer = await ask(...request);
        if (!String(request[0].url ?? request[0]).includes('/messages/')) return answer;
        globalThis.isHeld = true;
        await promise;
        return answer;
      };
    })()`);
    await browser.push({ conversation_id: id, seq });
    await until(
      async () => await browser.inWorker<boolean>('globalThis.isHeld === true'),
      'the message to be asked for',
    );
    await browser.signOut();
    await browser.inWorker('goOn()');
    assert.deepEqual(await browser.showing(1), [{ title: 'New message', body: '' }]);
  });

  test('FRM-05 nothing that a push or a notification names leads out of the app', async () => {
    await server.people('una');
    const browser = await Browser.of('una');
    await browser.page.goto(`${server.coordinator}${ELSEWHERE}`);
    const hostile = [
      'https://evil.example/',
      '//evil.example/',
      '@evil.example/',
      '.evil.example/',
      'javascript:alert(1)',
      '\\\\evil.example',
      '../../console/',
      '?x#/',
      '',
    ];
    for (const [at, place] of hostile.entries()) {
      await browser.push({ conversation_id: place, seq: 1 });
      await browser.push({ call: `call ${at}`, from: place, conversation_id: place });
      await browser.push({ reminder_id: `reminder ${at}`, calendar_id: place, entry_id: place, recurrence_id: place });
      await browser.push({ invitation: `${at}`, text: place });
      // As one would be that something else of this origin had shown.
      const options = { tag: `made ${at}`, data: { place } };
      await browser.inWorker(`registration.showNotification('made', ${JSON.stringify(options)})`);
    }
    await browser.inWorker('registration.showNotification("made", { tag: "made bare" })');
    await browser.showing(hostile.length * 5 + 1);
    const opened = await browser.inWorker<string[]>(`(async () => {
      const opened = [];
      clients.openWindow = async (url) => void opened.push(url);
      for (const [tag, { data }] of shown) {
        const event = new Event('notificationclick');
        const work = [];
        Object.defineProperty(event, 'notification', { value: { close: () => undefined, data, tag } });
        Object.defineProperty(event, 'waitUntil', { value: (promise) => work.push(promise) });
        dispatchEvent(event);
        await Promise.all(work);
      }
      return opened;
    })()`);
    assert.equal(opened.length, hostile.length * 5 + 1);
    const scope = `${server.coordinator}/#/`;
    assert.deepEqual(
      opened.filter((url) => !url.startsWith(scope) || !new URL(url).href.startsWith(scope)),
      [],
    );
    // Nor where a page of the app is there to be led.
    await browser.page.goto(server.coordinator);
    await browser.page.getByRole('navigation', { name: 'Conversations' }).waitFor();
    for (const place of hostile) {
      const said = JSON.stringify({ kind: 'lead', place, tag: 'x' });
      await browser.inWorker(`clients.matchAll().then((all) => all.forEach((one) => one.postMessage(${said})))`);
    }
    await browser.inWorker(`clients.matchAll().then((all) => all.forEach((one) =>
      one.postMessage({ kind: 'lead', place: '#/settings', tag: 'x' })))`);
    await browser.page.waitForURL(`${scope}settings`);
    assert.deepEqual(people.complaints, []);
  });

  test('SUR-01 the browser keeps the app for whoever comes, and no word of who was there; the worker is of this app alone', async () => {
    const { ritaquay, svenbuoy } = await server.people('ritaquay', 'svenbuoy');
    const { id } = await start(server, svenbuoy, 'room', [ritaquay.username], 'Breakwater');
    await say(server, svenbuoy, id, 'Tide at eight');
    const browser = await Browser.of('ritaquay');
    await openRow(browser.page, 'Breakwater');
    await browser.page.getByText('Tide at eight').first().waitFor();
    await browser.page.reload();
    await browser.page.getByText('Tide at eight').first().waitFor();
    const isShell = ({ url }: { url: string }) => {
      const { origin, pathname, search } = new URL(url);
      return origin === server.coordinator && search === '' && /^\/(?:assets\/[\w.-]+)?$/.test(pathname);
    };
    const there = await browser.kept();
    assert.deepEqual(
      there.filter((one) => !isShell(one)).map(({ store, url }) => [store, new URL(url).pathname]),
      [['parley.account', '/kept-account']],
    );
    await browser.signOut();
    const left = await browser.kept();
    assert.ok(left.length > 3 && left.every(isShell), JSON.stringify(left.map(({ url }) => url)));
    assert.deepEqual(
      left.filter(({ text }) => /ritaquay|svenbuoy|breakwater|tide at/i.test(text)).map(({ url }) => url),
      [],
    );
    const registrations = await browser.page.evaluate(async () =>
      (await navigator.serviceWorker.getRegistrations()).map(({ active, scope, updateViaCache }) => ({
        script: active?.scriptURL,
        scope,
        updateViaCache,
      })),
    );
    const script = `${server.coordinator}/worker.js`;
    assert.deepEqual(registrations, [{ script, scope: `${server.coordinator}/`, updateViaCache: 'none' }]);
    const worker = await fetch(script);
    assert.equal(worker.headers.get('service-worker-allowed'), null);
  });

  test('ATT-01 no file that somebody uploads is a worker, a script or a page of the origin that all services share', async () => {
    const { olga, pete } = await server.people('olga', 'pete');
    const { id: room } = await start(server, olga, 'room', ['pete'], 'Files');
    const script = 'self.addEventListener("fetch", (event) => event.respondWith(new Response("taken")));';
    const page =
      '<!doctype html><script>top.taken = 1; parent.taken = 1; navigator.serviceWorker.register("x.js")</script>';
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" onload="parent.taken=1"><script>parent.taken=1</script></svg>';
    const files: Readonly<Record<string, string>> = {
      'worker.js': script,
      'worker.mjs': `\ufeff${script}`,
      'page.html': page,
      'page.xhtml': `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><script>parent.taken=1</script></html>`,
      'picture.svg': svg,
      'picture.gif': `GIF89a=1;${script}`,
      'sound.mid': `MThd=1;${script}`,
      'picture.bmp': `BM=1;${script}`,
      'tables.json': '{}',
    };
    const links: Record<string, string> = {};
    for (const [name, text] of Object.entries(files)) {
      const id = await upload(server, olga, Buffer.from(text), name);
      const posted = await attach(server, olga, room, id, {
        name,
        type: 'text/javascript',
        size: text.length,
      });
      assert.equal(posted.status, 201, posted.text);
      const linked = await server.api<{ path: string }>(pete, 'GET', `/v1/attachments/${id}/link?conversation=${room}`);
      links[name] = linked.body.path;
    }
    // All services under one name, as behind a proxy, with a page and a script of the attacker's own beside them.
    const site = createServer((incoming, answer) => {
      const { headers, method, url = '/' } = incoming;
      if (url === '/blank') {
        answer.setHeader('content-type', 'text/html').end('<!doctype html>');
        return;
      }
      if (url === '/own.js') {
        answer.setHeader('content-type', 'text/javascript').end(script);
        return;
      }
      const target = new URL(url, url.startsWith('/v1/attachments/') ? server.messaging : server.coordinator);
      const passed = forward(target, { method, headers }, (given) => {
        answer.writeHead(given.statusCode ?? 502, given.headers);
        given.pipe(answer);
      });
      incoming.pipe(passed);
    });
    site.listen(0, '127.0.0.1');
    await once(site, 'listening');
    const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    // Nothing is to be shown here but pages.
    const shell = await People.start();
    try {
      const tab = await shell.person();
      await tab.goto(`${origin}/blank`);
      const registered = async (path: string) =>
        await tab.evaluate(
          async (url) =>
            await navigator.serviceWorker.register(url).then(
              async (registration) => await registration.unregister(),
              () => false,
            ),
          path,
        );
      assert.equal(await registered('/own.js'), true, 'the page may register what is a script');
      for (const [name, path] of Object.entries(links)) {
        assert.equal(await registered(path), false, name);
        const loaded = await tab.evaluate(
          async (url) =>
            await new Promise<string>((resolve) => {
              const element = document.createElement('script');
              element.addEventListener('load', () => resolve('loaded'));
              element.addEventListener('error', () => resolve('refused'));
              element.src = url;
              document.head.append(element);
            }),
          path,
        );
        assert.equal(loaded, 'refused', name);
        await tab.evaluate(async (url) => {
          const frame = document.createElement('iframe');
          frame.src = url;
          document.body.append(frame);
          // A download has no end for a frame; the answer is there when it is read beside it.
          await (await fetch(url)).arrayBuffer();
        }, path);
        const answer = await fetch(`${origin}${path}`);
        assert.match(answer.headers.get('content-security-policy') ?? '', /sandbox(?:$|;)/, name);
        assert.doesNotMatch(answer.headers.get('content-type') ?? '', /script|html|xml|json/, name);
        assert.equal(answer.headers.get('service-worker-allowed'), null, name);
      }
      assert.equal(await tab.evaluate('globalThis.taken'), undefined);
      assert.equal(await tab.evaluate('navigator.serviceWorker.getRegistrations().then((all) => all.length)'), 0);
    } finally {
      await shell.stop();
      site.closeAllConnections();
      site.close();
    }
  });
});
