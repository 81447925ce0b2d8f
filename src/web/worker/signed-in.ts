/** Asking the server as the person whose browser this is, while none of its pages may be open. */
import { cookieSession, Session } from '#src/client/connection/session.ts';
import { Http } from '#src/client/connection/http.ts';
import { StandingWatch } from '#src/client/connection/standing.ts';
import { systemTimers } from '#src/client/connection/timers.ts';
import { MessagingApi } from '#src/client/messaging-api.ts';
import { sharedRenewing } from '#src/client/client-tabs.ts';
import { PROTOCOL_VERSION } from '#src/protocol/version.ts';
import type { KeptAccount } from './kept-account.ts';

export class SignedIn {
  readonly account: KeptAccount;
  readonly #session: Session;
  readonly #services: { readonly coordinator: Http; readonly messaging: Http };

  /** `coordinatorUrl` is where the worker itself comes from. */
  constructor(account: KeptAccount, coordinatorUrl: string) {
    this.account = account;
    const shared = {
      fetch: (...request: Parameters<typeof fetch>) => globalThis.fetch(...request),
      timers: systemTimers,
      standing: new StandingWatch(PROTOCOL_VERSION, () => undefined),
    };
    const coordinator = new Http({ url: coordinatorUrl, ...shared });
    this.#services = { coordinator, messaging: new Http({ url: account.messagingUrl, ...shared }) };
    const { deviceId, user } = account;
    this.#session = new Session(cookieSession({ user, deviceId }), {
      coordinator,
      // The worker lives for seconds, and asks for a token when it needs one: nothing is renewed ahead.
      timers: { ...systemTimers, after: () => () => undefined },
      inCookie: true,
      // The pages and the worker have one cookie, which each renewal puts another in the place of.
      turn: sharedRenewing(`${user} ${deviceId}`),
      onRenewed: () => undefined,
      onOver: () => undefined,
    });
  }

  /** Whether this is still the account of the browser. */
  isOf(account: KeptAccount): boolean {
    return account.user === this.account.user && account.deviceId === this.account.deviceId;
  }

  get api(): MessagingApi {
    return new MessagingApi(this.#session, this.#services.messaging);
  }

  /** @throws ParleyError */
  async read(service: 'coordinator' | 'messaging', path: string): Promise<unknown> {
    return await this.#session.request(this.#services[service], { method: 'get', path });
  }
}
