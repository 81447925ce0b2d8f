/** Enrolment: invitations for people, guests, administrators and owners (CRD-07). */
import type { Enrollment } from '#src/directory/enrollment.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { enroll, enrollReply } from '#src/protocol/directory/guests.ts';
import { permits } from '#src/identity/console/permissions.ts';
import { roleOf } from '#src/identity/console/principal.ts';
import { consoleRoute, page, type ConsolePage, type ConsoleRoute } from '../../route.ts';

export const enrollRoutes = {
  enroll: consoleRoute.post(
    '/enroll',
    'Makes an invitation for one exchange. Those that open the console take the right to manage access.',
    {
      access: 'users:write',
      vendor: 'closed',
      audit: 'enrollment.invited',
      body: enroll,
      replies: { 201: enrollReply },
      errors: ['phone_taken'],
    },
  ),
} as const satisfies Record<string, ConsoleRoute>;

export interface EnrollPageOptions {
  readonly enrollment: Enrollment;
  /** Where clients reach the coordinator, without a slash at the end. */
  readonly coordinatorUrl: () => string;
}

export function makeEnrollPage({ enrollment, coordinatorUrl }: EnrollPageOptions): ConsolePage {
  return page(enrollRoutes, {
    enroll: async ({ by, principal, body }) => {
      const opensConsole = body.kind === 'admin' || body.kind === 'owner';
      if (opensConsole && !permits(roleOf(principal), 'access:write')) throw new Refusal('right_missing');
      const inviter = principal.kind === 'person' ? principal.username : undefined;
      const made = await enrollment.invite(body, inviter, by);
      return { status: 201, body: { url: `${coordinatorUrl()}${made.path}`, expires_at: made.expiresAt } };
    },
  });
}
