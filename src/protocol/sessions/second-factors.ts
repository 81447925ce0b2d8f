/** The forms of people’s second factors; the routes are in `second-factor-routes.ts`. */
import { z } from 'zod';
import { deviceId } from '../names.ts';
import { passkeyAssertion, newPasskey, passkeyRequest } from './passkeys.ts';
import { device, PASSWORD_LENGTH_MAX, sessionCookie } from './sessions.ts';

/** Six digits, in two groups as apps show them. */
export const oneTimeCode = z
  .string()
  .regex(/^\d{3} ?\d{3}$/)
  .meta({ description: 'A code of the authenticator app.' });

/** Longer than one with spaces for dashes. [field_invalid] */
const RECOVERY_CODE_LENGTH_MAX = 64;
export const recoveryCode = z.string().min(1).max(RECOVERY_CODE_LENGTH_MAX);

/** What a second factor may be proven with. */
const SECOND_FACTOR_WAYS = ['code', 'passkey', 'recovery_code'] as const;

/** What a sign-in is told that lacks its second factor: beside `second_factor_required`. */
export const secondFactorAsk = z
  .strictObject({
    challenge: z.string().meta({ description: 'Goes on with this sign-in on its device, once.' }),
    expires_at: z.string(),
    ways: z.array(z.enum(SECOND_FACTOR_WAYS)),
    passkey: passkeyRequest.optional(),
  })
  .meta({ id: 'SecondFactorAsk' });
export type SecondFactorAsk = z.infer<typeof secondFactorAsk>;

const proofs = {
  code: oneTimeCode.optional(),
  recovery_code: recoveryCode.optional(),
  passkey: passkeyAssertion.optional(),
};
const isOne = (...given: readonly unknown[]) => given.filter((value) => value !== undefined).length === 1;

/** POST /v1/auth/second-factor. One of the proofs. */
export const finishSignIn = z
  .strictObject({ challenge: z.string().min(1).max(64), session_cookie: sessionCookie, ...proofs })
  .refine(({ code, passkey, recovery_code }) => isOne(code, passkey, recovery_code), { path: ['code'] })
  .meta({ id: 'FinishSignIn' });
export type FinishSignIn = z.infer<typeof finishSignIn>;

/** POST /v1/auth/passkey/options. */
export const beginPasskeySignIn = z
  .strictObject({ device_id: deviceId.optional() })
  .optional()
  .meta({ id: 'BeginPasskeySignIn' });
export type BeginPasskeySignIn = z.infer<typeof beginPasskeySignIn>;

/** POST /v1/auth/passkey. `device_id` is the one that the options were asked for with. */
export const passkeySignIn = z
  .strictObject({
    passkey: passkeyAssertion,
    device: device.optional(),
    device_id: deviceId.optional(),
    session_cookie: sessionCookie,
  })
  .meta({ id: 'PasskeySignIn' });
export type PasskeySignIn = z.infer<typeof passkeySignIn>;

/** POST /v1/me/second-factors/proof. One of them. */
export const proveOneself = z
  .strictObject({ password: z.string().min(1).max(PASSWORD_LENGTH_MAX).optional(), ...proofs })
  .refine((form) => isOne(...Object.values(form)), { path: ['password'] })
  .meta({ id: 'ProveOneself' });
export type ProveOneself = z.infer<typeof proveOneself>;

export const proven = z
  .strictObject({ expires_at: z.string() })
  .meta({ id: 'ProvenOneself', description: 'Until when factors may be changed in this session.' });

export const totpSetup = z
  .strictObject({
    secret: z.string().meta({ description: 'Base 32. Shown once.' }),
    otpauth_url: z.string(),
    qr: z.string().meta({ description: 'The URL as a QR code: an SVG document.' }),
  })
  .meta({ id: 'TotpSetup' });

/** What a factor is called by its person. */
const factorName = z.string().min(1).max(100);
const endOthers = z.boolean().default(false);

export const confirmTotp = z
  .strictObject({ code: oneTimeCode, name: factorName.optional(), end_others: endOthers })
  .meta({ id: 'ConfirmTotp' });
export type ConfirmTotp = z.infer<typeof confirmTotp>;

export const addPasskey = z
  .strictObject({ name: factorName, passkey: newPasskey, end_others: endOthers })
  .meta({ id: 'AddPasskey' });
export type AddPasskey = z.infer<typeof addPasskey>;

export const renameFactor = z.strictObject({ name: factorName }).meta({ id: 'RenameFactor' });

/** DELETE /v1/me/second-factors/{factor}. */
export const removeFactorQuery = z.strictObject({ end_others: z.enum(['true', 'false']).default('false') });

export const ownFactor = z
  .strictObject({
    id: z.string().meta({ description: '`totp`, or the id of a passkey.' }),
    kind: z.enum(['totp', 'passkey']),
    name: z.string(),
    created_at: z.string(),
    last_used_at: z.string().nullable(),
    signs_in_alone: z.boolean().meta({ description: 'A passkey that needs no password beside it.' }),
  })
  .meta({ id: 'OwnFactor' });
export type OwnFactor = z.infer<typeof ownFactor>;

export const ownFactors = z
  .strictObject({
    items: z.array(ownFactor),
    next: z.null(),
    recovery_codes_left: z.int(),
    is_asked: z.boolean().meta({ description: 'Whether signing in with an app asks for one of them.' }),
    is_required: z.boolean().meta({ description: 'Whether this installation wants the person to have one.' }),
    proven_until: z.string().nullable().meta({ description: 'Until when they may be changed in this session.' }),
  })
  .meta({ id: 'OwnFactors' });

export const factorAdded = z
  .strictObject({
    factor: ownFactor,
    recovery_codes: z
      .array(z.string())
      .nullable()
      .meta({ description: 'With the first factor, and only in this answer. Each is good once.' }),
    sessions_ended: z.int(),
  })
  .meta({ id: 'FactorAdded' });
export type FactorAdded = z.infer<typeof factorAdded>;

export const ownRecoveryCodes = z
  .strictObject({ recovery_codes: z.array(z.string()) })
  .meta({ id: 'OwnRecoveryCodes', description: 'Each is good once. Shown once.' });
