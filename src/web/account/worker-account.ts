/** The service worker beside the account: it starts with the first page of who is signed in, and knows nobody after the sign-out. */
import { conversationTag } from '../worker/notice-tag.ts';
import { forgetAccount, keepAccount, type KeptAccount } from '../worker/kept-account.ts';
import { WORKER_URL } from '../kit/page-security.ts';

/** One thing after the other: who signs in right after somebody else is kept after that one is forgotten. */
let turn: Promise<unknown> = Promise.resolve();

function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const done = turn.then(work);
  turn = done.catch(() => undefined);
  return done;
}

/** Whether there are workers here: on pages of https and of loopback. */
export function hasWorkers(): boolean {
  return 'serviceWorker' in navigator && globalThis.isSecureContext;
}

/** Starts the worker for somebody, or goes on with the one there is. @throws where the browser refuses or the script does not come. */
export function startWorker(account: KeptAccount): Promise<ServiceWorkerRegistration> {
  return inTurn(async () => {
    await keepAccount(account);
    return await navigator.serviceWorker.register(WORKER_URL, { updateViaCache: 'none' });
  });
}

/** Nobody is signed in here any more: no push comes, none is shown any longer, and the worker can ask for nobody. */
export function leaveWorker(): void {
  if (!hasWorkers()) return;
  inTurn(async () => {
    await forgetAccount();
    const registration = await navigator.serviceWorker.getRegistration(WORKER_URL);
    await (navigator as Partial<Navigator>).clearAppBadge?.();
    await closeNotices(registration, () => true);
    await (await registration?.pushManager.getSubscription())?.unsubscribe();
    // What a browser does not let go, as in a private window, it does not keep for long either.
  }).catch(() => undefined);
}

/** Takes away the notifications of the conversations that `isRead` says; the others stay. */
export async function closeRead(
  registration: ServiceWorkerRegistration,
  isRead: (conversation: string) => boolean,
): Promise<void> {
  const start = conversationTag('');
  await closeNotices(registration, ({ tag }) => tag.startsWith(start) && isRead(tag.slice(start.length)));
}

async function closeNotices(
  registration: ServiceWorkerRegistration | undefined,
  isMeant: (notice: Notification) => boolean,
): Promise<void> {
  const shown = (await registration?.getNotifications()) ?? [];
  for (const notice of shown) if (isMeant(notice)) notice.close();
}
