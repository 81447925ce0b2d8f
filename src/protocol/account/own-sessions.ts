/** A person’s own sessions as they see them (GET and DELETE /v1/me/sessions). */
import { z } from 'zod';
import { userSession } from '../directory/directory.ts';
import { count } from '../names.ts';

export const ownSession = z
  .strictObject({
    ...userSession.shape,
    is_current: z.boolean().meta({ description: 'Whether it is the session that asks.' }),
    /** To the life of a token for clients with refresh tokens, to the hour for others. */
    last_used_at: z.string(),
    /** Where it was used from then. Absent for one of before this was kept. */
    address: z.string().optional(),
  })
  .meta({ id: 'OwnSession' });
export type OwnSession = z.infer<typeof ownSession>;

export const ownSessionsReply = z
  .strictObject({ items: z.array(ownSession), next: z.null() })
  .meta({ id: 'OwnSessions' });

export const sessionsEnded = z.strictObject({ sessions_ended: count }).meta({ id: 'SessionsEnded' });
