/**
 * Tickets: what a walk to the identity provider needs when it comes back, sealed, kept by its browser and never seen by
 * the provider. Nothing is stored for a start, so that nobody can push out the start of somebody else.
 */
import * as oidc from 'openid-client';
import type { Clock } from '#src/base/clock.ts';
import { makeKey, makeKeyId, seal, unseal } from '#storage/vault/sealing.ts';

/** How long somebody may take on the provider's page. */
export const START_MILLIS = 10 * 60_000;

/** What a ticket is sealed as, so that nothing else that is sealed passes for one. */
const TICKET = 'sso-ticket';

/** What somebody was sent to the provider for: what comes back is good for that and nothing else. */
export type Purpose = 'sign_in' | 'step_up' | 'bind';

export interface Ticket {
  readonly verifier: string;
  readonly nonce: string;
  readonly state: string;
  /** Milliseconds. */
  readonly startedAt: number;
  readonly purpose: Purpose;
  /** The console session that it is for; null for a sign-in, which has none yet. */
  readonly sid: string | null;
}

export class SsoTickets {
  readonly #clock: Clock;
  /** Made at start: a ticket does not outlive the process that gave it. */
  readonly #key = makeKey();
  readonly #keyId = makeKeyId();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  make(purpose: Purpose, sid: string | null): Ticket {
    return {
      verifier: oidc.randomPKCECodeVerifier(),
      nonce: oidc.randomNonce(),
      state: oidc.randomState(),
      startedAt: this.#clock.now(),
      purpose,
      sid,
    };
  }

  seal(ticket: Ticket): string {
    return seal(this.#key, this.#keyId, TICKET, Buffer.from(JSON.stringify(ticket))).toString('base64url');
  }

  /** The ticket of a text; undefined for one that is over, made up, or for something else. */
  open(text: string, purpose: Purpose, sid: string | null): Ticket | undefined {
    let ticket: Ticket;
    try {
      const sealed = Buffer.from(text, 'base64url');
      ticket = JSON.parse(Buffer.from(unseal(this.#key, TICKET, sealed)).toString('utf8')) as Ticket;
    } catch {
      // Made up, changed, or given by an earlier process.
      return undefined;
    }
    const isItsOwn = ticket.purpose === purpose && ticket.sid === sid;
    return isItsOwn && this.#clock.now() < ticket.startedAt + START_MILLIS ? ticket : undefined;
  }
}
