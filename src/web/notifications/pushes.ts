/** Pushes to this browser: the service worker that shows them, whether the person wants them here, and what is read meanwhile. */
import type { ParleyClient } from '#src/client/parley-client.ts';
import { keep, readKept } from '../kit/kept-values.ts';
import { closeRead, hasWorkers, startWorker } from '../account/worker-account.ts';
import type { Inbox } from '../chat/state/inbox.ts';
import { currentLanguage } from '../kit/language.ts';
import { Observable } from '../kit/observable.ts';

/** That the person wants pushes in this browser. It goes with the sign-out. */
const WANTED = 'parley.push';
/** Reading goes message by message; notifications are looked at when it rests. */
const READ_GATHER_MILLIS = 500;

/** `impossible`: this browser, or this page, which is not secure, has no pushes. `denied`: the person forbade them to the browser. */
export type PushStanding = 'impossible' | 'denied' | 'off' | 'on';

interface Led {
  readonly kind: 'lead';
  readonly place: string;
}

export class Pushes extends Observable {
  readonly #client: ParleyClient;
  readonly #inbox: Inbox;
  #registration: ServiceWorkerRegistration | undefined;
  #isWanted = readKept(WANTED) === true;
  #lookAhead: ReturnType<typeof setTimeout> | undefined;

  constructor(client: ParleyClient, inbox: Inbox) {
    super();
    this.#client = client;
    this.#inbox = inbox;
  }

  get standing(): PushStanding {
    if (!hasWorkers() || !('PushManager' in globalThis) || !('Notification' in globalThis)) return 'impossible';
    if (Notification.permission === 'denied') return 'denied';
    return this.#isWanted && Notification.permission === 'granted' ? 'on' : 'off';
  }

  /** Has the worker there from now on; `go` leads to a place of the app, from its `#` on. The answer ends that. */
  start(go: (place: string) => void): () => void {
    if (!hasWorkers()) return () => undefined;
    const heard = ({ data }: MessageEvent<Led>) => {
      if (data.kind === 'lead' && data.place.startsWith('#/')) go(data.place);
    };
    navigator.serviceWorker.addEventListener('message', heard);
    const offInbox = this.#inbox.subscribe(() => this.#lookSoon());
    const offRead = this.#client.on('caught-up', () => this.#lookSoon());
    void this.#open().catch(() => undefined);
    return () => {
      navigator.serviceWorker.removeEventListener('message', heard);
      offInbox();
      offRead();
      clearTimeout(this.#lookAhead);
    };
  }

  /**
   * Asks the person, where the browser has not yet, and has pushes come here.
   * @throws DOMException where they refuse or the browser's push service is not reached; ParleyError.
   */
  async turnOn(): Promise<void> {
    const permission = await Notification.requestPermission();
    this.changed();
    if (permission !== 'granted') throw new DOMException('The person refused.', 'NotAllowedError');
    const { pushManager } = await this.#open();
    await this.#client.webPush.subscribe(pushManager);
    this.#want(true);
  }

  /** @throws ParleyError */
  async turnOff(): Promise<void> {
    this.#want(false);
    const { pushManager } = await this.#open();
    await this.#client.webPush.unsubscribe(pushManager);
  }

  #want(isWanted: boolean): void {
    this.#isWanted = isWanted;
    keep(WANTED, isWanted);
    this.changed();
  }

  async #open(): Promise<ServiceWorkerRegistration> {
    const { session, user } = this.#client;
    const messagingUrl = document.documentElement.dataset['messaging'] ?? location.origin;
    await startWorker({ user, deviceId: session.device_id, messagingUrl, language: currentLanguage() });
    const isFirst = this.#registration === undefined;
    this.#registration = await navigator.serviceWorker.ready;
    this.#lookSoon();
    // The browser or the server may have another address or key by now.
    const { pushManager } = this.#registration;
    if (isFirst && this.standing === 'on') await this.#client.webPush.subscribe(pushManager);
    // Whoever was here before signed out without a network: what is pushed to them would go on coming here.
    else if (isFirst && !this.#isWanted && this.standing !== 'impossible')
      await (await pushManager.getSubscription())?.unsubscribe();
    return this.#registration;
  }

  #lookSoon(): void {
    this.#lookAhead ??= setTimeout(() => {
      this.#lookAhead = undefined;
      this.#look().catch(() => undefined);
    }, READ_GATHER_MILLIS);
  }

  /** The badge says how much is unread, and what was read is not told of any longer. */
  async #look(): Promise<void> {
    if (!this.#inbox.isLoaded) return;
    const unread = this.#inbox.rows.reduce((sum, row) => sum + (row.isMuted ? row.mentions : row.unread), 0);
    const browser: Partial<Navigator> = navigator;
    await (unread === 0 ? browser.clearAppBadge?.() : browser.setAppBadge?.(unread));
    if (this.#registration === undefined) return;
    await closeRead(this.#registration, (conversation) => (this.#inbox.rowOf(conversation)?.unread ?? 0) === 0);
  }
}
