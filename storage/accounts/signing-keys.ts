/**
 * Keys that sign in the server's name, in rings: the newest signs, and those before it verify what they signed until that
 * is over. A ring is one record, so that no crash leaves one without a key that signs.
 */
import { randomBytes } from 'node:crypto';
import { randomSymbols } from '#src/base/ids.ts';
import { pack, unpack, type Codec } from '../engine/record-codec.ts';

/** What is signed by a ring: session tokens; links to attachments, and the tokens by which bots answer commands. */
export const KEY_RINGS = ['session_keys', 'link_keys'] as const;
export type KeyRingName = (typeof KEY_RINGS)[number];

/** The single key of a ring before there were rings. */
export const RINGLESS = { session_keys: 'session_key', link_keys: 'link_key' } as const satisfies Record<
  KeyRingName,
  string
>;

export const SIGNING_KEY_BYTES = 32;

export interface SigningKey {
  /** The `kid` of a token. Empty for the key of before there were rings, whose tokens have none. */
  readonly id: string;
  readonly key: Uint8Array;
  /** Null for the one that signs. */
  readonly retired: Retirement | null;
}

/** How a key that signs no more is to be taken, in Unix seconds. */
export interface Retirement {
  /** What says that it was signed later was not signed by this server. */
  readonly signedUntil: number;
  /** The end of whatever it signed, whatever that says of itself. */
  readonly validUntil: number;
  /** When the key is deleted: until then it proves that something which is over was ours. */
  readonly keptUntil: number;
}

/** The one that signs first. */
export type SigningKeys = readonly [SigningKey, ...SigningKey[]];

/** The keys of every ring. */
export type RingsOfKeys = Readonly<Record<KeyRingName, SigningKeys>>;

/** How long a key of before there were rings is taken: a token lives for a day at most, and may be renewed for a day after. */
const RINGLESS_SECONDS = 2 * 86_400;

const KEY_ID_SYMBOLS = 8;

type PackedKey = [id: string, key: Uint8Array, retired: [number, number, number] | null];

export const signingKeysRecord: Codec<SigningKeys> = {
  encode: (keys) =>
    pack(
      keys.map(({ id, key, retired }): PackedKey => [
        id,
        key,
        retired === null ? null : [retired.signedUntil, retired.validUntil, retired.keptUntil],
      ]),
    ),
  decode(value) {
    const keys = (unpack('ring of signing keys', value) as PackedKey[]).map(([id, key, packed]): SigningKey => {
      const [signedUntil = 0, validUntil = 0, keptUntil = 0] = packed ?? [];
      return {
        id,
        key: Uint8Array.from(key),
        retired: packed === null ? null : { signedUntil, validUntil, keptUntil },
      };
    });
    const [present, ...retired] = keys;
    if (present === undefined) throw new Error('A ring of signing keys is empty.');
    return [present, ...retired];
  },
};

/** A new ring; `ringless` is the key of before there were rings, whose tokens are still about. */
export function makeKeyRing(ringless: Uint8Array | undefined, nowSeconds: number): SigningKeys {
  const until = nowSeconds + RINGLESS_SECONDS;
  const retired = { signedUntil: nowSeconds, validUntil: until, keptUntil: until };
  return [makeSigningKey(), ...(ringless === undefined ? [] : [{ id: '', key: Uint8Array.from(ringless), retired }])];
}

/** The ring with another key in front, in whose favour the present one retires. */
export function rotateKeyRing([present, ...before]: SigningKeys, retired: Retirement): SigningKeys {
  return [makeSigningKey(), { ...present, retired }, ...before];
}

/** The ring without the keys whose time is over; the same one where there are none. */
export function trimKeyRing(keys: SigningKeys, nowSeconds: number): SigningKeys {
  const [present, ...retired] = keys;
  const left = retired.filter((key) => (key.retired?.keptUntil ?? 0) > nowSeconds);
  return left.length === retired.length ? keys : [present, ...left];
}

function makeSigningKey(): SigningKey {
  return {
    id: randomSymbols(KEY_ID_SYMBOLS),
    key: Uint8Array.from(randomBytes(SIGNING_KEY_BYTES)),
    retired: null,
  };
}
