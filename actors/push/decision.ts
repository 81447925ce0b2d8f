/** The decision whether a message is pushed to a person, as one function of what is known of both. */

import type { NotificationLevel } from '#src/protocol/account/notifications.ts';

/** How a person stands to a conversation now. */
export interface RecipientStatus {
  /** The seqs up to which the person has read, and up to which their devices have the messages. */
  readonly read: number;
  readonly delivered: number;
  /** The head when they joined: what came before is not for them. */
  readonly joinedSeq: number;
  readonly floorSeq: number;
  readonly headSeq: number;
  /** Milliseconds since 1970 until which they do not want to hear of it. */
  readonly mutedUntil: number;
  /** Whether it is of two people: what is said there is said to the person. */
  readonly isPair: boolean;
}

/** What the decision needs of a message. */
export interface Posted {
  readonly seq: number;
  readonly sender: string;
  readonly isDeleted: boolean;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Whether it names the person, or says what they watch for: a mute does not hold that back. */
  readonly mentions: boolean;
}

export interface Moment {
  readonly user: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Whether a message is also settled when a device said that it has it: after a socket was lost. */
  readonly countsDelivered: boolean;
  /** Whether the policies let the sender reach the person. */
  readonly reaches: (sender: string) => boolean;
  /** Of what the person wants to be told in that conversation now; their quiet hours are `none`. */
  readonly level: NotificationLevel;
}

export const VERDICTS = ['due', 'own', 'deleted', 'read', 'delivered', 'muted', 'unwanted', 'forbidden'] as const;
export type Verdict = (typeof VERDICTS)[number];

/**
 * Whether a message is due as a push to a person with no app awake (FRM-05), or why not. Who no longer takes part has no
 * standing and is never asked about.
 */
export function judge(message: Posted, standing: RecipientStatus, moment: Moment): Verdict {
  const { seq, sender } = message;
  if (sender === moment.user) return 'own';
  if (message.isDeleted || seq <= standing.floorSeq) return 'deleted';
  if (seq <= standing.read || seq <= standing.joinedSeq) return 'read';
  if (moment.countsDelivered && seq <= standing.delivered) return 'delivered';
  if (standing.mutedUntil > moment.now && !message.mentions) return 'muted';
  const isNamed = message.mentions || standing.isPair;
  if (moment.level === 'none' || (moment.level === 'mentions' && !isNamed)) return 'unwanted';
  return moment.reaches(sender) ? 'due' : 'forbidden';
}
