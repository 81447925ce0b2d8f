/** What is stored of how far subscriptions were served: a cursor a conversation, and commands that wait. */
import { defineCollection } from '#storage/accounts/collections.ts';

/** How a delivery that does not get through stands; undefined while all is well. */
export interface Failure {
  /** Milliseconds since 1970. */
  readonly failingSince: number;
  readonly attempts: number;
  /** Of the last attempt, in milliseconds since 1970. */
  readonly attemptedAt: number;
  /** Of the last attempt: a status, or why there was none. */
  readonly reason: string;
}

export interface CursorRecord {
  /** The conversation's rev up to which everything was delivered. */
  readonly rev: number;
  readonly failure: Failure | null;
}

/** Ids are `<subscription>:<conversation>`. */
export const cursorRecords = defineCollection<CursorRecord>('subscription_cursors', { version: 1 });

export interface WaitingCommand {
  readonly conversation: string;
  /** The event, as it is sent. */
  readonly event: string;
  /** Milliseconds since 1970: after it nobody would hear the answer. */
  readonly until: number;
}

/** Ids are `<subscription>:<invocation>`, so that those of a subscription lie in the order of their giving. */
export const waitingCommands = defineCollection<WaitingCommand>('subscription_commands', { version: 1 });

/** Where a subscription's secret lies in the vault. */
export function subscriptionSecret(id: string): string {
  return `subscription:${id}`;
}

/** The failure that lasts longest. */
export function failureOf(cursors: readonly CursorRecord[]): Failure | undefined {
  return cursors
    .flatMap(({ failure }) => (failure === null ? [] : [failure]))
    .toSorted((a, b) => a.failingSince - b.failingSince)[0];
}
