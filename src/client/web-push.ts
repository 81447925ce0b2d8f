/**
 * Pushes to this browser while no page of the app is open (Web Push, RFC 8030): the subscription that the browser makes with its own
 * push service, and the server knowing of it. What a push says, the application's service worker reads and shows.
 */
import { clientError } from './parley-error.ts';
import type { MessagingApi } from './messaging-api.ts';

/** What is used of a browser's `PushManager`. */
export interface PushManagerLike {
  getSubscription(): Promise<PushSubscriptionLike | null>;
  subscribe(options: { userVisibleOnly: boolean; applicationServerKey: string }): Promise<PushSubscriptionLike>;
}

/** What is used of a browser's `PushSubscription`. */
export interface PushSubscriptionLike {
  readonly options: { readonly applicationServerKey: ArrayBuffer | null };
  toJSON(): { readonly endpoint?: string; readonly keys?: Readonly<Record<string, string>> };
  unsubscribe(): Promise<boolean>;
}

export class WebPush {
  readonly #api: Pick<MessagingApi, 'call'>;

  constructor(api: Pick<MessagingApi, 'call'>) {
    this.#api = api;
  }

  /**
   * Has pushes come to this browser from now on: `(await navigator.serviceWorker.ready).pushManager` is the manager. Done again at each
   * start of the application, it puts right what changed meanwhile: another key of the server, another address of the browser.
   * @throws ParleyError `target_private`, `field_invalid`, `answer_unreadable`, or what any request may fail with; DOMException of the
   * browser where the person refused (`NotAllowedError`) or its push service is not reached (`AbortError`).
   */
  async subscribe(manager: PushManagerLike): Promise<void> {
    const { vapid_public_key: key } = await this.#api.call('readPush', { params: {} });
    let subscription = await manager.getSubscription();
    if (subscription !== null && keyOf(subscription) !== key) {
      await subscription.unsubscribe();
      subscription = null;
    }
    subscription ??= await manager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
    const { endpoint, keys: { auth, p256dh } = {} } = subscription.toJSON();
    if (endpoint === undefined || auth === undefined || p256dh === undefined) throw clientError('answer_unreadable');
    await this.#api.call('putPush', { params: {}, body: { provider: 'webpush', endpoint, keys: { p256dh, auth } } });
  }

  /** Ends pushes to this browser. The browser's own end of it is there even where the server could not be told. @throws ParleyError */
  async unsubscribe(manager: Pick<PushManagerLike, 'getSubscription'>): Promise<void> {
    const subscription = await manager.getSubscription();
    await subscription?.unsubscribe();
    await this.#api.call('deletePush', { params: {} });
  }
}

/** The server's key that a subscription was made with, in base64url. */
function keyOf({ options: { applicationServerKey: key } }: PushSubscriptionLike): string {
  const bytes = String.fromCharCode(...new Uint8Array(key ?? new ArrayBuffer()));
  return btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}
