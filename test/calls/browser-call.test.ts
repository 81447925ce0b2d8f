/**
 * A real call between two browsers over loopback: offers, answers and candidates that the server relays connect a peer
 * connection that carries data, sound and pictures. Without Chromium on the machine it is skipped.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { Chromium, findChromium } from '#test/console/web/chromium.ts';
import { start } from '#test/messaging/conversing.ts';
import { startServer, type Person, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { playCall, type PageOrder, type PageReport } from './call-page.ts';

const chromium = findChromium();
/** A camera and a microphone that nobody has to allow, and addresses of loopback among the candidates. */
const FLAGS = [
  '--use-fake-ui-for-media-stream',
  '--use-fake-device-for-media-stream',
  '--allow-loopback-in-peer-connection',
  '--disable-features=WebRtcHideLocalIpsWithMdns',
  '--autoplay-policy=no-user-gesture-required',
];

describe('a call between two browsers', { skip: chromium === undefined && 'no Chromium on this machine' }, () => {
  let server: TestServer;
  let page: Server;
  let origin: string;
  const browsers: Chromium[] = [];
  before(async () => {
    page = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>call</title>');
    });
    page.listen(0, '127.0.0.1');
    await once(page, 'listening');
    origin = `http://127.0.0.1:${(page.address() as AddressInfo).port}`;
    server = await startServer({ shards: 2, environment: { PARLEY_ALLOWED_ORIGINS: origin } });
    for (let count = 0; count < 2; count += 1) browsers.push(await Chromium.start(chromium as string, FLAGS));
  });
  after(async () => {
    await Promise.all(browsers.map((browser) => browser.stop()));
    await server?.stop();
    page.closeAllConnections();
    page.close();
  });

  test('SIG-03 what is relayed connects it: data, sound and pictures pass both ways', async () => {
    const { ann, ben } = await server.people('ann', 'ben');
    await start(server, ann, 'direct', ['ben']);
    const [hers, his] = browsers as [Chromium, Chromium];
    await Promise.all([hers.goTo(origin), his.goTo(origin)]);
    const play = async (browser: Chromium, who: Person, to: string, isCaller: boolean): Promise<PageReport> => {
      const { token, device_id: device } = who.session;
      const order: PageOrder = { messaging: server.messaging, token, device, to, call: 'browsers', isCaller };
      return await browser.read<PageReport>(`(${playCall.toString()})(${JSON.stringify(order)})`);
    };
    const called = play(his, ben, 'ann', false);
    // A failure before the other side is asked would otherwise be nobody's.
    called.catch(() => undefined);
    await until(async () => (await his.read<string>('document.title')) === 'ready', 'the called one to listen');
    const reports = await Promise.all([play(hers, ann, 'ben', true), called]);
    const [caller, callee] = reports;
    assert.deepEqual([caller.said, callee.said], ['hello from the called', 'hello from the caller']);
    for (const { iceState, framesDecoded, audioPackets, candidatesSent } of reports) {
      assert.match(iceState, /^(?:connected|completed)$/);
      assert.ok(framesDecoded > 0 && audioPackets > 0 && candidatesSent > 0);
    }
    const { body } = await server.api<{ items: { state: string }[] }>(ann, 'GET', '/v1/calls');
    assert.deepEqual(
      body.items.map(({ state }) => state),
      ['joined'],
    );
    for (const browser of browsers) assert.deepEqual(browser.complaints, []);
  });
});
