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

/** Wherever a session is opened, renewed or ended: its refresh token is in a cookie of the app's own origin, and in no answer. */
export const sessionCookie = z.boolean().optional().meta({
  description: 'Whether the refresh token goes into a cookie, and is taken from it. For pages of this server alone.',
});

/** POST /v1/auth/login. `device_id` is one that an earlier sign-in of the same person got. */
export const login = z
  .strictObject({
    username: z.string().min(1).max(64),
    password: z.string().min(1).max(PASSWORD_LENGTH_MAX),
    device: device.optional(),
    device_id: deviceId.optional(),
    session_cookie: sessionCookie,
  })
  .meta({ id: 'Login' });
export type Login = z.infer<typeof login>;

/** Of a username, an id and two secrets. [token_invalid] */
const REFRESH_TOKEN_LENGTH_MAX = 256;

/** A cookie is one device’s: the form that means it names the device. */
const onDevice = { session_cookie: sessionCookie, device_id: deviceId.optional() };
const isWhole = (form: { session_cookie?: boolean | undefined; device_id?: string | undefined }) =>
  (form.session_cookie === true) === (form.device_id !== undefined);

/**
 * POST /v1/auth/renew. Without a refresh token the token of the header renews, until a refresh token was used. With
 * `session_cookie` the cookie of that device renews; a refresh token beside it moves into the cookie.
 */
export const renew = z
  .strictObject({
    refresh_token: z.string().max(REFRESH_TOKEN_LENGTH_MAX).optional(),
    ...onDevice,
  })
  .refine(isWhole, { path: ['device_id'] })
  .optional()
  .meta({ id: 'Renew' });
export type Renew = z.infer<typeof renew>;

/** POST /v1/auth/logout. With `session_cookie` the cookie of that device is cleared, and ends its session where no token does. */
export const logout = z
  .strictObject(onDevice)
  .refine(isWhole, { path: ['device_id'] })
  .optional()
  .meta({ id: 'Logout' });
export type Logout = z.infer<typeof logout>;

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
/** `conversation_id` is the room that a guest was invited into, once they take part in it. */
export const exchangeReply = z
  .strictObject({ user: username, conversation_id: z.string().optional() })
  .meta({ id: 'Enrolled' });
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
