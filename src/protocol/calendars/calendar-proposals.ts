/** Proposals of another time, as the JSON door shows and takes them (RFC 5546, 3.2.7). */
import { z } from 'zod';
import { RSVP_COMMENT_LENGTH_MAX } from '../limits.ts';
import { calendarId, entryTime, hasOneTime, person, recurrenceId, sentBy, time } from './calendars.ts';

const comment = z.string().trim().max(RSVP_COMMENT_LENGTH_MAX);

/** When instead, in any of the ways in which an entry says when it is; without an end it is as long as it was. */
export const proposeTime = z
  .strictObject({ ...entryTime, recurrence_id: recurrenceId.optional(), comment: comment.default('') })
  .refine(hasOneTime, { path: ['local_start'] })
  .meta({ id: 'ProposeTime' });
export type ProposeTime = z.infer<typeof proposeTime>;

export const proposal = z
  .strictObject({
    id: z.string(),
    /** Whether it waits for the caller’s answer, or was theirs, or that of whose delegate they are, and was not taken. */
    standing: z.enum(['waiting', 'declined']),
    calendar_id: calendarId,
    entry_id: z.string(),
    /** What the entry was called when it was proposed. */
    title: z.string(),
    /** Which occurrence of a series it is for; absent for all of it. */
    recurrence_id: z.string().optional(),
    /** Who said so: the attendee who proposes, or the organiser who declines. */
    from: z.strictObject({ ...person, sent_by: sentBy }),
    ...time,
    comment: z.string().optional(),
    proposed_at: z.string(),
  })
  .meta({ id: 'TimeProposal' });
export type ProposalView = z.infer<typeof proposal>;

export const proposalsReply = z.strictObject({ items: z.array(proposal), next: z.null() });

export const answerProposal = z
  .strictObject({ answer: z.enum(['accepted', 'declined']), comment: comment.default('') })
  .meta({ id: 'AnswerProposal' });
export type AnswerProposal = z.infer<typeof answerProposal>;
