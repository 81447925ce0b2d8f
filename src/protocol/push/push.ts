/** Pushes: where a device is reached while no app of its person is awake (FRM-05), and what may be said to it there. */
import { z } from 'zod';

export const PUSH_PROVIDERS = ['webpush', 'apns', 'fcm'] as const;
export type PushProvider = (typeof PUSH_PROVIDERS)[number];

/** So many bytes in base64url, without padding. */
const bytes = (count: number) =>
  z.string().regex(new RegExp(`^[A-Za-z0-9_-]{${Math.ceil((count * 8) / 6)}}$`), `${count} bytes in base64url.`);

/** What `PushSubscription.toJSON()` of a browser answers, without its expiry. */
const webPush = z.strictObject({
  provider: z.literal('webpush'),
  endpoint: z
    .url({ protocol: /^https$/ })
    .max(2_000)
    .meta({ description: 'The subscription’s endpoint: https, without a user or a password in it.' }),
  keys: z.strictObject({ p256dh: bytes(65), auth: bytes(16) }),
});

const apns = z.strictObject({
  provider: z.literal('apns'),
  token: z
    .string()
    .regex(/^(?:[0-9a-f]{2}){32,100}$/i)
    .meta({ description: 'The device token in hexadecimal.' }),
  topic: z
    .string()
    .regex(/^[A-Za-z0-9.-]{1,160}$/)
    .optional()
    .meta({
      description: 'The bundle id of the installation or, for calls, that with .voip; the installation’s without it.',
    }),
});

const fcm = z.strictObject({ provider: z.literal('fcm'), token: z.string().regex(/^[\w:.-]{16,4096}$/) });

/** PUT /v1/push: the address of the session's own device. Another one takes its place. */
export const putPush = z.discriminatedUnion('provider', [webPush, apns, fcm]).meta({ id: 'PushAddress' });
export type PushAddress = z.infer<typeof putPush>;

/** GET /v1/push. `vapid_public_key` is what a browser subscribes with. */
export const pushReply = z
  .strictObject({
    registered: z.strictObject({ provider: z.enum(PUSH_PROVIDERS), registered_at: z.string() }).nullable(),
    vapid_public_key: z.string(),
    providers: z.array(z.enum(PUSH_PROVIDERS)).meta({ description: 'Those that this installation can push by now.' }),
  })
  .meta({ id: 'Push' });

/** What the messaging threads push with. The main thread hands it over whenever it changes. */
export interface PushCredentials {
  /** Private key of P-256 and its public point, base64url; `subject` is whom push services may write to. */
  readonly vapid: { readonly publicKey: string; readonly privateKey: string; readonly subject: string };
  /** Null while it is not set up, or the vault is locked. */
  readonly apns: {
    readonly teamId: string;
    readonly keyId: string;
    readonly topic: string;
    /** PEM. */
    readonly privateKey: string;
    /** Origin of the gateway. */
    readonly gateway: string;
  } | null;
  readonly fcm: {
    readonly projectId: string;
    readonly clientEmail: string;
    /** PEM. */
    readonly privateKey: string;
    readonly tokenUrl: string;
    readonly gateway: string;
  } | null;
}
