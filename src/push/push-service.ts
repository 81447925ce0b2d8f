/** What a push is to a provider, and what the provider may answer: one contract for all three. */
import type { PushAddress } from '#src/protocol/push/push.ts';
import type { PushKind } from '#storage/conversations/push-records.ts';

export interface OutgoingPush {
  readonly address: PushAddress;
  readonly kind: PushKind;
  /** What the app gets: ids, and a text only where the operator wants one. */
  readonly data: Readonly<Record<string, string | number | boolean>>;
  /** Unread messages, capped; undefined where the push changes none. */
  readonly badge: number | undefined;
  readonly text: string | undefined;
  /** How long the provider may keep it for a device that is off, in seconds. */
  readonly ttlSeconds: number;
  /** Pushes of one id take each other's place: 32 characters of base64url. */
  readonly collapseId: string;
}

export type PushAnswer =
  | { readonly result: 'sent' }
  /** The address is nobody's any more. */
  | { readonly result: 'gone' }
  /** This push will never be taken. */
  | { readonly result: 'refused'; readonly reason: string }
  /** Not now. `isDown`: the provider itself fails, and the next push would fail as well. */
  | {
      readonly result: 'failed';
      readonly reason: string;
      readonly isDown: boolean;
      /** How long the provider asks to be left alone, in milliseconds. */
      readonly retryMillis?: number | undefined;
    };

export interface PushService {
  send(push: OutgoingPush): Promise<PushAnswer>;
  /** Lets its connections go. */
  close(): void;
}

/** How long one attempt may take, from the lookup to the answer. */
export const PUSH_ATTEMPT_MILLIS = 10_000;
/** What is read of a provider's answer, in bytes: enough for its reason. */
export const PUSH_REPLY_BYTES_MAX = 2_048;
/** Connections to one host at once over HTTP/1.1, so that one slow push service takes no more of the machine than this. */
export const PUSH_SOCKETS_MAX = 16;

/** Statuses by which every provider says "not now": too many, or its own fault. */
export function isTemporary(status: number): boolean {
  return status === 429 || status >= 500;
}

/** The part of a JSON Web Token that is signed. */
export function tokenContent(header: object, claims: object): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
  return `${encode(header)}.${encode(claims)}`;
}

/** A failure that came as an exception: nobody answered. */
export function unreachable(reason: string): PushAnswer {
  return { result: 'failed', reason, isDown: true };
}
