/** App passwords: how calendar programs that know nothing but a username and a password sign in (CRD-05). */
import { z } from 'zod';

/** App passwords of one person: a handful of devices with a handful of programs. [app_passwords_full] */
export const APP_PASSWORDS_MAX = 20;

const name = z.string().trim().min(1).max(64).meta({ description: 'What the person calls it: the program or device.' });

export const createAppPassword = z.strictObject({ name }).meta({ id: 'CreateAppPassword' });

export const appPassword = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    created_at: z.string(),
    /** To the hour; absent until it is used. */
    last_used_at: z.string().optional(),
  })
  .meta({ id: 'AppPassword' });
export type AppPasswordView = z.infer<typeof appPassword>;

/** The password itself is in this answer and nowhere else. */
export const createdAppPassword = appPassword
  .extend({ username: z.string(), password: z.string() })
  .meta({ id: 'CreatedAppPassword' });

export const appPasswordsReply = z.strictObject({ items: z.array(appPassword), next: z.null() });
