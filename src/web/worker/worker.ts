/**
 * The service worker of the app: shows what is pushed while no page is open, leads from there into the app, and has the app itself
 * there without a network. It is built into one file at the root of the app, whose scope that is.
 */
import { ParleyError } from '#src/client/parley-error.ts';
import { WebPush } from '#src/client/web-push.ts';
import { languageOf } from '#src/protocol/languages.ts';
import { keptAccount, type KeptAccount } from './kept-account.ts';
import { askedByNobody, namelessOf, noticeOf, type Ask, type Notice } from './notice.ts';
import { answerOf, fileOf, forgetOldShells, keepShell, pageOf } from './shell.ts';
import { SignedIn } from './signed-in.ts';
import { wordsIn } from './words.ts';
import type { WorkerScope } from './worker-scope.ts';

const worker = globalThis as unknown as WorkerScope;
const { clients, registration } = worker;
/** Kept as long as the browser lets the worker live: several pushes in a row renew the session once. */
let signedIn: SignedIn | undefined;
/** What the server answers to who may not know: a session that is over, no right, not there for them. */
const REFUSED: ReadonlySet<number> = new Set([401, 403, 404]);

worker.addEventListener('install', (event) => {
  event.waitUntil(keepShell().then(() => worker.skipWaiting()));
});
worker.addEventListener('activate', (event) => {
  const work = [forgetOldShells(), clients.claim(), registration.navigationPreload.enable()];
  event.waitUntil(Promise.all(work));
});
worker.addEventListener('fetch', (event) => {
  const { preloadResponse, request } = event;
  const kind = answerOf(request, registration.scope);
  if (kind === 'page') event.respondWith(pageOf(request, preloadResponse));
  if (kind === 'file') event.respondWith(fileOf(request));
});
worker.addEventListener('push', (event) => {
  event.waitUntil(show(payloadOf(event.data)));
});
worker.addEventListener('notificationclick', (event) => {
  const { data, tag } = event.notification;
  event.notification.close();
  event.waitUntil(lead((data as { readonly place?: string } | null)?.place ?? '#/', tag));
});
worker.addEventListener('pushsubscriptionchange', (event) => {
  event.waitUntil(subscribeAgain());
});

function payloadOf(data: { json(): unknown } | null): unknown {
  try {
    return data?.json();
  } catch {
    // Whoever has the address of the push service may send anything; the browser wants something shown for it.
    return undefined;
  }
}

/** Shows a push. A browser takes pushes away from who shows none, so there is one even where nothing is known of it. */
async function show(payload: unknown): Promise<void> {
  const account = await accountHere();
  const { body, place, stays, tag, title } = await noticeFor(account, payload);
  const options = { body, tag, data: { place }, icon: './icon-192.png', requireInteraction: stays };
  // A message on top of another one of its conversation is told again: by sound, and not as a second line.
  await registration.showNotification(title, { ...options, renotify: true } as NotificationOptions);
  const badge = (payload as { readonly badge?: unknown } | undefined)?.badge;
  if (account === undefined || typeof badge !== 'number') return;
  await (navigator as Partial<Navigator>).setAppBadge?.(badge).catch(() => undefined);
}

/** What is shown to whose browser it is; where it is another’s by the time that the server has answered, no word of it. */
async function noticeFor(account: KeptAccount | undefined, payload: unknown): Promise<Notice> {
  const words = wordsIn(account?.language ?? languageOf(navigator.language) ?? 'en');
  if (account !== undefined) {
    const notice = await noticeOf(payload, async (...asked) => await askAs(account, ...asked), words);
    if (isSame(account, await accountHere())) return notice;
  }
  return await noticeOf(namelessOf(payload), askedByNobody, words);
}

async function accountHere(): Promise<KeptAccount | undefined> {
  return await keptAccount().catch(() => undefined);
}

function isSame(account: KeptAccount, other: KeptAccount | undefined): boolean {
  return other?.user === account.user && other.deviceId === account.deviceId;
}

/** Signed out meanwhile, no network, no right any more: the notification says less then. */
async function askAs(account: KeptAccount, ...[service, path]: Parameters<Ask>): Promise<unknown> {
  try {
    if (!isSame(account, await accountHere())) return null;
    if (signedIn?.isOf(account) !== true) signedIn = new SignedIn(account, registration.scope);
    return await signedIn.read(service, path);
  } catch (error) {
    return error instanceof ParleyError && REFUSED.has(error.status) ? null : undefined;
  }
}

/** To the place in a page that is open, the one in front first, or in a new one; places of the app begin with `#/`, and no others count. */
async function lead(named: string, tag: string): Promise<void> {
  const place = named.startsWith('#/') ? named : '#/';
  const pages = await clients.matchAll({ type: 'window', includeUncontrolled: true });
  const own = pages.filter(({ url }) => url.split(/[?#]/)[0] === registration.scope);
  const page = own.find(({ focused }) => focused) ?? own[0];
  if (page === undefined) return void (await clients.openWindow(`${registration.scope}${place}`));
  page.postMessage({ kind: 'lead', place, tag });
  // A browser may keep the page behind; it is led there all the same.
  await page.focus().catch(() => undefined);
}

/** The browser has another address: the server is told, with the key that it subscribes by. */
async function subscribeAgain(): Promise<void> {
  const account = await keptAccount();
  if (account === undefined) return;
  await new WebPush(new SignedIn(account, registration.scope).api).subscribe(registration.pushManager);
}
