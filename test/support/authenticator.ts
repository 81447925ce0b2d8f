/** A small authenticator in software, for what no honest one does: every part of what it answers can be made wrong. */
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import type { NewPasskey, PasskeyAssertion } from '#src/protocol/sessions/passkeys.ts';

const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const HAS_CREDENTIAL = 0x40;

export interface Wrongs {
  readonly origin?: string;
  readonly rpId?: string;
  readonly isVerified?: boolean;
  readonly counter?: number;
  readonly userHandle?: string | null;
  readonly type?: string;
  readonly crossOrigin?: boolean;
  /** Beside a registration: another format of attestation, and what it states. */
  readonly format?: string;
  readonly statement?: Buffer;
  /** An algorithm that the key says it is of, which it is not. */
  readonly algorithm?: number;
}

type Kind = 'ES256' | 'EdDSA' | 'RS256' | 'ES384';
const ALGORITHMS = { ES256: -7, EdDSA: -8, RS256: -257, ES384: -35 } as const;

export class Authenticator {
  readonly #origin: string;
  readonly #rpId: string;
  readonly #kind: Kind;
  readonly #privateKey: KeyObject;
  readonly #publicKey: KeyObject;
  readonly id: string;
  counter = 0;
  /** What it knows its person by, from the registration. */
  userHandle = '';

  constructor(
    origin: string,
    { kind = 'ES256', id, rpId = 'localhost' }: { kind?: Kind; id?: string; rpId?: string } = {},
  ) {
    this.#origin = origin;
    this.#rpId = rpId;
    this.#kind = kind;
    this.id = id ?? randomBytes(32).toString('base64url');
    const { privateKey, publicKey } = pairOf(kind);
    this.#privateKey = privateKey;
    this.#publicKey = publicKey;
  }

  create(options: { challenge: string; user: { id: string } }, wrongs: Wrongs = {}): NewPasskey {
    this.userHandle = options.user.id;
    const id = Buffer.from(this.id, 'base64url');
    const length = Buffer.alloc(2);
    length.writeUInt16BE(id.length);
    const attested = Buffer.concat([Buffer.alloc(16), length, id, this.#cose(wrongs.algorithm)]);
    const data = Buffer.concat([this.#head(HAS_CREDENTIAL, wrongs), attested]);
    const object = Buffer.concat([
      Buffer.from([0xa3]),
      text('fmt'),
      text(wrongs.format ?? 'none'),
      text('attStmt'),
      wrongs.statement ?? Buffer.from([0xa0]),
      text('authData'),
      byteString(data),
    ]);
    return {
      id: this.id,
      rawId: this.id,
      type: 'public-key',
      response: {
        clientDataJSON: this.#clientData('webauthn.create', options.challenge, wrongs).toString('base64url'),
        attestationObject: object.toString('base64url'),
        transports: ['internal'],
      },
    };
  }

  get(options: { challenge: string }, wrongs: Wrongs = {}): PasskeyAssertion {
    const data = this.#head(0, wrongs);
    const clientData = this.#clientData('webauthn.get', options.challenge, wrongs);
    const signed = Buffer.concat([data, createHash('sha256').update(clientData).digest()]);
    const handle = wrongs.userHandle === undefined ? this.userHandle : wrongs.userHandle;
    return {
      id: this.id,
      rawId: this.id,
      type: 'public-key',
      response: {
        clientDataJSON: clientData.toString('base64url'),
        authenticatorData: data.toString('base64url'),
        signature: sign(this.#kind === 'EdDSA' ? null : 'sha256', signed, this.#privateKey).toString('base64url'),
        userHandle: handle,
      },
    };
  }

  #head(flags: number, { counter, isVerified = true, rpId }: Wrongs): Buffer {
    this.counter = counter ?? this.counter + 1;
    const rest = Buffer.alloc(5);
    rest[0] = flags | USER_PRESENT | (isVerified ? USER_VERIFIED : 0);
    rest.writeUInt32BE(this.counter, 1);
    const name = createHash('sha256')
      .update(rpId ?? this.#rpId)
      .digest();
    return Buffer.concat([name, rest]);
  }

  #clientData(type: string, challenge: string, { crossOrigin = false, origin, type: other }: Wrongs): Buffer {
    return Buffer.from(JSON.stringify({ type: other ?? type, challenge, origin: origin ?? this.#origin, crossOrigin }));
  }

  /** The public key as COSE (RFC 9053), of the algorithm that is stated. */
  #cose(stated: number | undefined): Buffer {
    const jwk = this.#publicKey.export({ format: 'jwk' });
    const part = (name: 'x' | 'y' | 'n' | 'e') => byteString(Buffer.from(jwk[name] as string, 'base64url'));
    const algorithm = number(stated ?? ALGORITHMS[this.#kind]);
    const [key, value] = [(label: number) => number(label), (one: number) => number(one)];
    if (this.#kind === 'RS256') {
      return Buffer.concat([
        Buffer.from([0xa4]),
        key(1),
        value(3),
        key(3),
        algorithm,
        key(-1),
        part('n'),
        key(-2),
        part('e'),
      ]);
    }
    if (this.#kind === 'EdDSA') {
      return Buffer.concat([
        Buffer.from([0xa4]),
        key(1),
        value(1),
        key(3),
        algorithm,
        key(-1),
        value(6),
        key(-2),
        part('x'),
      ]);
    }
    const curve = value(this.#kind === 'ES256' ? 1 : 2);
    const points = [key(-1), curve, key(-2), part('x'), key(-3), part('y')];
    return Buffer.concat([Buffer.from([0xa5]), key(1), value(2), key(3), algorithm, ...points]);
  }
}

function pairOf(kind: Kind) {
  if (kind === 'EdDSA') return generateKeyPairSync('ed25519');
  if (kind === 'RS256') return generateKeyPairSync('rsa', { modulusLength: 2_048 });
  return generateKeyPairSync('ec', { namedCurve: kind === 'ES256' ? 'P-256' : 'P-384' });
}

/** CBOR (RFC 8949, section 3): a head of a major type with its argument. */
function head(major: number, argument: number): Buffer {
  if (argument < 24) return Buffer.from([(major << 5) | argument]);
  if (argument < 256) return Buffer.from([(major << 5) | 24, argument]);
  const bytes = Buffer.from([(major << 5) | 25, 0, 0]);
  bytes.writeUInt16BE(argument, 1);
  return bytes;
}

function number(value: number): Buffer {
  return value < 0 ? head(1, -1 - value) : head(0, value);
}

export function byteString(bytes: Buffer): Buffer {
  return Buffer.concat([head(2, bytes.length), bytes]);
}

export function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'utf8');
  return Buffer.concat([head(3, bytes.length), bytes]);
}
