/** Guests: enrolment, their term, and the recovery of their passwords (GST-01…05, CRD-07). */
import { z } from 'zod';
import { phone, profileFields } from './directory.ts';
import { PAGE_LENGTH_MAX } from '../limits.ts';
import { conversationId, count, username } from '../names.ts';
import { login, password } from '../sessions/sessions.ts';

/** A guest's term ends within a year; a longer one is a person of the organisation. [field_invalid] */
export const GUEST_TERM_DAYS_MAX = 366;

/** Where the settings say nothing, people give guests a month: what takes longer is looked at again. */
export const GUEST_TERM_DAYS_DEFAULT = 30;

/** Guests whom the settings may let one person have at once, invitations that wait included: an event with its visitors. [guests_full] */
export const GUESTS_PER_PERSON_MAX = 1_000;
/** Where the settings say nothing: those of a project. */
export const GUESTS_PER_PERSON_DEFAULT = 10;

/** An instant in UTC. Whether it lies within bounds is for the server's clock to say. */
const instant = z.iso.datetime();

/**
 * Console: an invitation for an account. A guest brings nothing of its own but name and password: its phone, its term
 * and who invited it come from the invitation.
 */
export const enroll = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('person'),
      display_name: profileFields.display_name.optional(),
      phone: phone.optional(),
      email: profileFields.email.optional(),
      title: profileFields.title.optional(),
    }),
    z.strictObject({
      kind: z.literal('guest'),
      phone,
      /** When the guest's term ends. */
      guest_until: instant,
      display_name: profileFields.display_name.optional(),
    }),
    z.strictObject({ kind: z.literal('admin') }),
    z.strictObject({ kind: z.literal('owner') }),
  ])
  .meta({ id: 'Enroll' });
export type Enroll = z.infer<typeof enroll>;

export const enrollReply = z.strictObject({ url: z.string(), expires_at: z.string() }).meta({ id: 'EnrollmentLink' });

/** A guest as the console shows them. */
export const guest = z
  .strictObject({
    user: username,
    display_name: z.string().optional(),
    phone: z.string(),
    expires_at: z.string(),
    is_over: z.boolean(),
    invited_by: username,
  })
  .meta({ id: 'Guest' });
export type GuestView = z.infer<typeof guest>;

const decimal = z
  .string()
  .regex(/^\d{1,16}$/)
  .transform(Number)
  .pipe(count);

export const guestsQuery = z.strictObject({
  after: username.optional(),
  limit: decimal.pipe(z.number().min(1).max(PAGE_LENGTH_MAX)).default(PAGE_LENGTH_MAX),
});
export const guestsReply = z
  .strictObject({ items: z.array(guest), next: z.string().nullable() })
  .meta({ id: 'Guests' });

/** POST /v1/guests: as the console invites them, within what the settings let people do. */
export const inviteGuest = z
  .strictObject({
    phone,
    /** When the guest's term ends. */
    guest_until: instant,
    display_name: profileFields.display_name.optional(),
    /** A room of the caller's that the guest comes into as they enrol. */
    conversation_id: conversationId.optional(),
  })
  .meta({ id: 'InviteGuest' });
export type InviteGuest = z.infer<typeof inviteGuest>;

/** `id` takes the invitation back while it waits. The link is in this answer and nowhere else. */
export const invitedGuest = z
  .strictObject({ id: z.string(), url: z.string(), expires_at: z.string() })
  .meta({ id: 'InvitedGuest' });

/** A guest whom the caller invited and whose term runs, or an invitation of theirs that waits. */
export const hostedGuest = z
  .discriminatedUnion('state', [
    z.strictObject({
      state: z.literal('active'),
      user: username,
      display_name: z.string().optional(),
      phone: z.string(),
      guest_until: z.string(),
    }),
    z.strictObject({
      state: z.literal('invited'),
      id: z.string(),
      display_name: z.string().optional(),
      phone: z.string(),
      guest_until: z.string(),
      /** When the link ends. */
      expires_at: z.string(),
      conversation_id: conversationId.optional(),
    }),
  ])
  .meta({ id: 'HostedGuest' });
export type HostedGuest = z.infer<typeof hostedGuest>;

export const hostedGuestsReply = z
  .strictObject({ items: z.array(hostedGuest), next: z.null() })
  .meta({ id: 'HostedGuests' });

export const changeGuest = z.strictObject({ expires_at: instant }).meta({ id: 'ChangeGuest' });

/** POST /v1/auth/recover. */
export const recover = z.strictObject({ phone }).meta({ id: 'Recover' });

/** POST /v1/auth/recover/confirm. Codes have twelve digits; those of servers of before had six. */
export const confirmRecovery = z
  .strictObject({
    phone,
    code: z.string().regex(/^\d{6,12}$/),
    new_password: password,
    /** A device that the guest signed in on before: attempts elsewhere do not hold it up. */
    device_id: login.shape.device_id,
  })
  .meta({ id: 'ConfirmRecovery' });
export type ConfirmRecovery = z.infer<typeof confirmRecovery>;

export const recoverReply = z.strictObject({ status: z.literal('ok') }).meta({ id: 'Recovered' });

/** A live code as an administrator reads it to its guest. */
export const recoveryCode = z
  .strictObject({
    user: username,
    phone: z.string(),
    code: z.string(),
    requested_at: z.string(),
    expires_at: z.string(),
    attempts_left: count,
  })
  .meta({ id: 'RecoveryCode' });

export const recoveryReply = z.strictObject({ items: z.array(recoveryCode), next: z.null() }).meta({ id: 'Recovery' });
