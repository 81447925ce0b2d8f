/** Sign-in on the coordinator: forms and answers (CRD-02, CRD-07). */
import { z } from 'zod';
import { deviceId, username } from '../names.ts';

/** What is shorter is found out by trying (NIST SP 800-63B, section 3.1.1.1). [password_too_short] */
export const PASSWORD_LENGTH_MIN = 8;
/** Long enough for a passphrase, short enough that hashing it stays cheap. [field_invalid] */
export const PASSWORD_LENGTH_MAX = 256;

/** What a chosen password may be refused with, wherever it is chosen. */
export const PASSWORD_POLICY_ERRORS = ['password_names_you', 'password_too_common', 'password_too_short'] as const;

/** A password that somebody chooses. The policy judges it, so that a code says what is wrong with it. */
export const password = z
  .string()
  .max(PASSWORD_LENGTH_MAX)
  .meta({ description: `${PASSWORD_LENGTH_MIN} characters or more, none of the commonest, and more than a name.` });

export const device = z.strictObject({ name: z.string().min(1).max(100), platform: z.string().min(1).max(32) });

/** POST /v1/auth/login. `device_id` is one that an earlier sign-in of the same person got. */
export const login = z
  .strictObject({
    username: z.string().min(1).max(64),
    password: z.string().min(1).max(PASSWORD_LENGTH_MAX),
    device: device.optional(),
    device_id: deviceId.optional(),
  })
  .meta({ id: 'Login' });
export type Login = z.infer<typeof login>;

/** Of a username, an id and two secrets. [token_invalid] */
const REFRESH_TOKEN_LENGTH_MAX = 256;

/** POST /v1/auth/renew. Without a refresh token the token of the header renews, until a refresh token was used. */
export const renew = z
  .strictObject({ refresh_token: z.string().max(REFRESH_TOKEN_LENGTH_MAX).optional() })
  .optional()
  .meta({ id: 'Renew' });
export type Renew = z.infer<typeof renew>;

/**
 * A session: the token, its claims in Unix seconds, and the device the server knows this client as. `refresh_token` renews it
 * next; where an answer has none, the client keeps the one it has.
 */
export const session = z
  .strictObject({
    token: z.string(),
    exp: z.int(),
    iat: z.int(),
    rnw: z.int(),
    user: username,
    device_id: z.string(),
    refresh_token: z.string().optional(),
    second_factor: z.enum(['enrollment', 'due']).optional().meta({
      description:
        'A second factor is asked for and there is none: the session sets one up and does nothing else, or will from `second_factor_due` on.',
    }),
    second_factor_due: z.string().optional(),
  })
  .meta({ id: 'Session' });
export type Session = z.infer<typeof session>;

/** POST /v1/auth/logout. */
export const logoutReply = z.strictObject({ status: z.literal('ok') }).meta({ id: 'LoggedOut' });

/** POST /v1/enroll/{invitation}: the owner set-up link takes the same form. */
export const exchangeInvitation = z.strictObject({ username, password }).meta({ id: 'ExchangeInvitation' });
export const exchangeReply = z.strictObject({ user: username }).meta({ id: 'Enrolled' });
export type SessionClaims = {
  /** Who: the username. */
  sub: string;
  /** Which sign-in; a revocation names it. */
  sid: string;
  /** Which device. */
  dev: string;
  exp: number;
  iat: number;
  /** Until when the session may be renewed. */
  rnw: number;
  /** It sets up a second factor and does nothing else. */
  enrolling?: true;
};

/** GET /v1/ws: the session's own device, and its token where no header can carry it. */
export const upgradeQuery = z.strictObject({ token: z.string().optional(), device: z.string().optional() });
