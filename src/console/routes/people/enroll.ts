/** Enrolment: invitations for people, guests, administrators and owners (CRD-07). */
import type { Enrollment } from '#src/directory/enrollment.ts';
import { enroll, enrollReply } from '#src/protocol/directory/guests.ts';
import { actorOf } from '#src/identity/console/principal.ts';
import { assertOwner, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

export const enrollRoutes = {
  enroll: {
    method: 'post',
    path: '/enroll',
    summary: 'Makes an invitation for one exchange. Those that open the console take the right to manage access.',
    access: 'users:write',
    vendor: 'closed',
    audit: 'enrollment.invited',
    body: enroll,
    replies: { 201: enrollReply },
    errors: ['phone_taken'],
  },
} as const satisfies Record<string, ConsoleRoute>;

export interface EnrollPageOptions {
  readonly enrollment: Enrollment;
  /** Where clients reach the coordinator, without a slash at the end. */
  readonly coordinatorUrl: () => string;
}

export function makeEnrollPage({ enrollment, coordinatorUrl }: EnrollPageOptions): ConsolePage {
  return page(enrollRoutes, {
    enroll: async (request) => {
      const { principal, address, body } = request;
      if (body.kind === 'admin' || body.kind === 'owner') assertOwner(request);
      const inviter = principal.kind === 'person' ? principal.username : undefined;
      const made = await enrollment.invite(body, inviter, { actor: actorOf(principal), address });
      return { status: 201, body: { url: `${coordinatorUrl()}${made.path}`, expires_at: made.expiresAt } };
    },
  });
}
