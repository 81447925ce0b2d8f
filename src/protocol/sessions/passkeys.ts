/**
 * Passkeys as browsers speak of them (WebAuthn, Level 3): what `parseRequestOptionsFromJSON` and
 * `parseCreationOptionsFromJSON` take in, and what `toJSON` of a credential gives.
 */
import { z } from 'zod';

/** Passkeys of one person. [passkeys_full] */
export const PASSKEYS_MAX = 10;
/** A form that carries a credential: the longest one below comes to 13 KB. [body_too_large] */
export const PASSKEY_BODY_BYTES_MAX = 16 * 1024;

/** Of a credential’s id: 1,023 bytes (WebAuthn, section 4). [field_invalid] */
const ID_LENGTH_MAX = 1_364;
/** Of what the browser signed over: those of today’s browsers have 350 characters. [field_invalid] */
const CLIENT_DATA_LENGTH_MAX = 2_048;
/** With an id and an RSA key of 4,096 bits; chains of certificates, which nobody asks for, have no place. [field_invalid] */
const ATTESTATION_LENGTH_MAX = 4_096;
const AUTHENTICATOR_DATA_LENGTH_MAX = 1_024;
/** Of an RSA key of 4,096 bits. [field_invalid] */
const SIGNATURE_LENGTH_MAX = 684;
/** Of 64 bytes (WebAuthn, section 5.4.3). [field_invalid] */
const USER_HANDLE_LENGTH_MAX = 86;

const bytes = (most: number) =>
  z
    .string()
    .min(1)
    .max(most)
    .regex(/^[A-Za-z0-9_-]+$/);

const TRANSPORT = z.string().max(32);

/** What a browser adds that nobody here knows is let go: `toJSON` grows with the standard. */
const credential = { id: bytes(ID_LENGTH_MAX), rawId: bytes(ID_LENGTH_MAX), type: z.literal('public-key') };

export const passkeyAssertion = z
  .object({
    ...credential,
    response: z.object({
      clientDataJSON: bytes(CLIENT_DATA_LENGTH_MAX),
      authenticatorData: bytes(AUTHENTICATOR_DATA_LENGTH_MAX),
      signature: bytes(SIGNATURE_LENGTH_MAX),
      userHandle: bytes(USER_HANDLE_LENGTH_MAX).nullish(),
    }),
  })
  .meta({ id: 'PasskeyAssertion', description: 'A credential of `navigator.credentials.get`, by its `toJSON`.' });
export type PasskeyAssertion = z.infer<typeof passkeyAssertion>;

export const newPasskey = z
  .object({
    ...credential,
    response: z.object({
      clientDataJSON: bytes(CLIENT_DATA_LENGTH_MAX),
      attestationObject: bytes(ATTESTATION_LENGTH_MAX),
      transports: z.array(TRANSPORT).max(10).optional(),
    }),
  })
  .meta({ id: 'NewPasskey', description: 'A credential of `navigator.credentials.create`, by its `toJSON`.' });
export type NewPasskey = z.infer<typeof newPasskey>;

const descriptor = z.strictObject({ id: z.string(), type: z.literal('public-key'), transports: z.array(z.string()) });

export const passkeyRequest = z
  .strictObject({
    challenge: z.string(),
    rpId: z.string(),
    timeout: z.int().meta({ description: 'Milliseconds.' }),
    userVerification: z.literal('required'),
    allowCredentials: z.array(descriptor),
  })
  .meta({ id: 'PasskeyRequest', description: 'For `PublicKeyCredential.parseRequestOptionsFromJSON`.' });
export type PasskeyRequest = z.infer<typeof passkeyRequest>;

export const passkeyCreation = z
  .strictObject({
    challenge: z.string(),
    rp: z.strictObject({ id: z.string(), name: z.string() }),
    user: z.strictObject({ id: z.string(), name: z.string(), displayName: z.string() }),
    pubKeyCredParams: z.array(z.strictObject({ type: z.literal('public-key'), alg: z.int() })),
    timeout: z.int().meta({ description: 'Milliseconds.' }),
    attestation: z.literal('none'),
    authenticatorSelection: z.strictObject({
      residentKey: z.literal('required'),
      requireResidentKey: z.literal(true),
      userVerification: z.literal('required'),
    }),
    excludeCredentials: z.array(descriptor),
  })
  .meta({ id: 'PasskeyCreation', description: 'For `PublicKeyCredential.parseCreationOptionsFromJSON`.' });
export type PasskeyCreation = z.infer<typeof passkeyCreation>;
