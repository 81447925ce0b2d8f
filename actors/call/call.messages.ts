/** What a call actor is told and asked, and what it answers. */
import type { Address } from '#actors/runtime/actor.ts';
import type { CallResult } from './call-record.ts';

/** A stanza of the call or webrtc family, checked, with its sender from the session. */
export interface CallStep {
  readonly kind: 'step';
  readonly user: string;
  readonly device: string;
  /** The session that it was sent by; null for a bot’s. */
  readonly session: string | null;
  readonly isGroup: boolean;
  /** The conversation it was addressed to; null when it went to a person. */
  readonly conversation: string | null;
  readonly to: string;
  readonly family: 'call' | 'webrtc';
  readonly step: string;
  readonly call: string;
  readonly seq: number;
  readonly body: { readonly [key: string]: unknown };
  /** Whether the policies let the sender begin an attempt here. */
  readonly mayBegin: boolean;
}

/** The answer to a step: taken, or to be asked again at another scope, into which the call was transferred. */
export type StepTaken = null | { readonly moved: string };

/** The answer to an outcome: the attempts that it may be of, none when nothing is known of it. */
export type OutcomeAnswer = readonly string[];

/** The answer to a claim: whether it is the first for that attempt. */
export interface CallClaimed {
  readonly isNew: boolean;
}

/**
 * The actor that knows in which scope an attempt of that id lives: ids are their clients' to choose, so an attempt elsewhere
 * under the id of another one would be taken for it by whoever is in both.
 */
export function claimsOf(call: string): Address {
  return `call:id=${call}`;
}

export type CallMessage =
  | CallStep
  /** Is this what became of it? Without `call` any attempt that the actor remembers may be meant. */
  | {
      readonly kind: 'outcome';
      readonly call?: string | undefined;
      readonly result: CallResult;
      /** Seconds. */
      readonly duration: number;
    }
  /** Something is due. */
  | { readonly kind: 'tick' }
  /** A person's actor says whether a device is connected. */
  | {
      readonly kind: 'located';
      readonly call: string;
      readonly user: string;
      readonly device: string;
      readonly connected: boolean;
    }
  /** These people are no longer in the room, or the meeting there is over; null for all of them. Answered with null. */
  | { readonly kind: 'membershipEnded'; readonly users: readonly string[] | null }
  /** These sessions are over: who came in by one of them is out. */
  | { readonly kind: 'sessionsEnded'; readonly sessions: readonly string[] }
  /** Steps of this attempt belong to another scope, or that is where it lives; tells again and again while it is so. */
  | { readonly kind: 'alias'; readonly call: string; readonly scope: string }
  /** To the actor of `claimsOf`: an attempt is to begin in that scope. Answered with `CallClaimed`; refused `call_id_taken`. */
  | { readonly kind: 'claim'; readonly call: string; readonly scope: string }
  /** To the same: it did not begin there, or is over. Answered with null. */
  | { readonly kind: 'release'; readonly call: string; readonly scope: string };
