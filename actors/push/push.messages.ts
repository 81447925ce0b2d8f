/** What the push actor of a person can be asked and told. */
import type { ReminderData } from '#src/protocol/sockets/events.ts';
import type { CallDetail, PushRegistration, PushRow } from '#storage/conversations/push-records.ts';

/** What came of handing a push to its provider. */
export type PushOutcome =
  | { readonly result: 'sent' }
  /** The address is nobody's any more. */
  | { readonly result: 'gone' }
  /** Nobody is to be told any more: read, deleted, left, expired, or refused for good. */
  | { readonly result: 'dropped' }
  /** To be tried again at `at`, in milliseconds since 1970. */
  | { readonly result: 'later'; readonly at: number };

export type PushMessage =
  | { readonly kind: 'register'; readonly registration: PushRegistration }
  | { readonly kind: 'unregister'; readonly device: string }
  /** These sessions are over. */
  | { readonly kind: 'sessionsEnded'; readonly sids: readonly string[] }
  /** Somebody else's device has this address now. */
  | { readonly kind: 'addressTaken'; readonly name: string }
  /** Something was posted: from this seq on, or, after a loss, at or after this time. */
  | { readonly kind: 'decide'; readonly conversation: string; readonly from: number; readonly since?: number }
  /** The last socket with an app awake behind it is gone, at this time. */
  | { readonly kind: 'attentionLost'; readonly at: number }
  | { readonly kind: 'ring'; readonly call: CallDetail }
  | { readonly kind: 'hush'; readonly call: string }
  /** An alarm of an entry in the person's own calendar is due. */
  | { readonly kind: 'remind'; readonly reminder: ReminderData }
  /** The person was asked into a room. */
  | { readonly kind: 'invite'; readonly conversation: string }
  /** The process was started again: no call of before goes on. */
  | { readonly kind: 'callsLost' }
  | {
      readonly kind: 'settled';
      readonly row: Pick<PushRow, 'device' | 'subject' | 'seq' | 'kind'>;
      /** The name of the address that was tried. */
      readonly address: string;
      readonly outcome: PushOutcome;
    }
  | { readonly kind: 'tick' };
