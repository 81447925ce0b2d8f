/** The door of RSVP links: looking changes nothing, since scanners of mail look, too; the form sends the answer. */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { hostOf } from '#src/limits/networks.ts';
import type { CalendarServices } from '../calendar-services.ts';
import { CALENDAR_FILE_ROUTES } from '#src/protocol/calendars/calendar-file-routes.ts';
import { Refusal, statusOf } from '#src/protocol/errors.ts';
import { RSVP_COMMENT_LENGTH_MAX } from '#src/protocol/limits.ts';
import type { OpenInvitation, RsvpLinks } from './rsvp-links.ts';
import { RSVP_POLICY, type RsvpAnswer, rsvpNote, rsvpPage } from './rsvp-page.ts';

/** Octets of a form: the longest comment, each character escaped as nine, and as much again. [body_too_large] */
const FORM_BYTES_MAX = 16 * 1024;

const PARTSTATS: Readonly<Record<RsvpAnswer, 'ACCEPTED' | 'TENTATIVE' | 'DECLINED'>> = {
  accepted: 'ACCEPTED',
  tentative: 'TENTATIVE',
  declined: 'DECLINED',
};

/** Adds the door to the listener of the calendar. */
export async function addRsvpRoutes(app: FastifyInstance, services: CalendarServices, links: RsvpLinks): Promise<void> {
  const { limiter } = services;
  type Linked = FastifyRequest<{ Params: { rsvp: string } }>;

  /** @throws Refusal `rsvp_link_not_found`, `rate_limited`, `busy`. */
  const open = async ({ ip, params: { rsvp } }: Linked): Promise<OpenInvitation> => {
    // Counted before it is looked at, so that guesses at the same time cannot share what is left.
    limiter.take('rsvp_guess', hostOf(ip));
    const invitation = await links.open(rsvp);
    if (invitation === undefined) throw new Refusal('rsvp_link_not_found');
    limiter.spend('rsvp_guess', hostOf(ip), -1);
    return invitation;
  };
  const pageOf = (invitation: OpenInvitation) => ({
    invitation,
    organizerName: services.book.nameOf(invitation.organizer),
    language: services.mail.language(),
  });
  const show = async (reply: FastifyReply, html: string) =>
    await reply
      .headers({ 'content-security-policy': RSVP_POLICY, 'x-robots-tag': 'noindex, nofollow, noarchive' })
      .type('text/html; charset=utf-8')
      .send(html);

  await app.register(async (pages) => {
    pages.removeAllContentTypeParsers();
    pages.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, text, done) =>
      done(null, new URLSearchParams(text as string)),
    );
    pages.addContentTypeParser('*', (_request, _payload, done) => done(new Refusal('field_invalid')));
    pages.setErrorHandler(async (error: FastifyError, _request, reply) => {
      if (!(error instanceof Refusal)) throw error;
      if (error.retryAfter !== undefined) void reply.header('retry-after', String(error.retryAfter));
      return await show(reply.code(statusOf(error.code)), rsvpNote(error.code, services.mail.language()));
    });
    pages.route<{ Params: { rsvp: string } }>({
      method: 'GET',
      url: CALENDAR_FILE_ROUTES.readRsvp.path,
      config: { anyVersion: true },
      handler: async (request, reply) => {
        const invitation = await open(request);
        return await show(reply, rsvpPage(pageOf(invitation)));
      },
    });
    pages.route<{ Params: { rsvp: string } }>({
      method: 'POST',
      url: CALENDAR_FILE_ROUTES.answerRsvp.path,
      config: { anyVersion: true },
      bodyLimit: FORM_BYTES_MAX,
      handler: async (request, reply) => {
        const invitation = await open(request);
        const { answer, comment } = readForm(request.body);
        limiter.take('rsvp_answer', request.params.rsvp);
        await send(services, invitation, answer, comment);
        return await show(reply, rsvpPage({ ...pageOf(invitation), given: answer }));
      },
    });
  });
}

/** @throws Refusal `field_invalid`. */
function readForm(body: unknown): { readonly answer: RsvpAnswer; readonly comment: string } {
  const form = body instanceof URLSearchParams ? body : new URLSearchParams();
  const answer = form.get('answer') ?? '';
  const comment = (form.get('comment') ?? '').replace(/\r\n?/g, '\n').trim();
  if (!Object.hasOwn(PARTSTATS, answer)) throw new Refusal('field_invalid', { field: 'answer' });
  if (comment.length > RSVP_COMMENT_LENGTH_MAX) throw new Refusal('field_invalid', { field: 'comment' });
  return { answer: answer as RsvpAnswer, comment };
}

/** Puts the answer on its way to the organiser as the REPLY that it is. @throws Refusal `rsvp_link_not_found`, `busy`. */
async function send(
  { calendars, clock, deliveries, pool }: CalendarServices,
  { attendee, bytes, calendar, organizer, uid }: OpenInvitation,
  answer: RsvpAnswer,
  comment: string,
): Promise<void> {
  const response = { bytes, zone: calendar.zone, now: clock.now(), address: attendee };
  const reply = await pool.respond({ ...response, partstat: PARTSTATS[answer], comment });
  if (reply === undefined) throw new Refusal('rsvp_link_not_found');
  const message = { method: 'REPLY' as const, bytes: reply, recipients: [organizer] };
  await calendars.change((draft) => {
    deliveries.send(draft, { from: attendee, uid, calendar: calendar.id, messages: [message] });
  });
  deliveries.wake();
}
