/**
 * Records of the accounts file: people, their devices, revocations and invitations. Like those of a lane, each value
 * is a version byte and MessagePack of its fields in a fixed order.
 */
import { pack, recordOf, unpack } from '../engine/record-codec.ts';

export type PersonState = 'active' | 'blocked' | 'left';
export type PersonRole = 'owner' | 'person';

export interface PersonRecord {
  username: string;
  state: PersonState;
  /** `owner` may do everything in the console; it has no meaning inside a conversation. */
  role: PersonRole;
  /** The argon2id hash in PHC form. */
  passwordHash: string;
  /** RFC 3339. */
  createdAt: string;
  /** The directory's change number at the last change of this person. */
  rev: number;
}

/** A sign-in that has not ended, in Unix seconds. */
export interface LiveSession {
  sid: string;
  iat: number;
  rnw: number;
  /** Undefined for one of before there were refresh tokens. */
  refresh?: RefreshState | undefined;
  /** Its last use as far as it is kept; undefined for one of before that. */
  seen?: LastUse | undefined;
  /** What stands in for a second factor that was not given; undefined where nothing has to. */
  instead?: InsteadOfFactor | undefined;
}

/** A session that a provider opened brings the provider's factor; one that enrols has to set one up first. */
export type InsteadOfFactor = 'provider' | 'enrollment';

/** When a session was used, in Unix seconds, and where from. */
export interface LastUse {
  at: number;
  address: string;
}

/** What is known of a session's refresh tokens; none of them can be made from it alone. */
export interface RefreshState {
  /** SHA-256 of the part that all refresh tokens of the session share, hex. */
  family: string;
  /** SHA-256 of the secret of the one that is good now, hex. */
  current: string;
  /** The last rotation; undefined until a refresh token was used. */
  rotated: Rotation | undefined;
}

export interface Rotation {
  /** SHA-256 of the secret that was used, hex. */
  used: string;
  /** Random bytes: whoever has the secret that was used gets the same one after it, and nobody else can make it. */
  salt: Uint8Array;
  /** When it happened, and the rotation before it (0: none), in milliseconds since 1970. */
  at: number;
  before: number;
}

/** A device as the server knows it. It has one live session at most: a new sign-in on it ends the one before. */
export interface DeviceRecord {
  id: string;
  name: string;
  platform: string;
  createdAt: string;
  /** Unix seconds of the last sign-in. */
  usedAt: number;
  session: LiveSession | undefined;
}

/** A session that ended before its time, and the Unix second after which no token of it could be valid or renewed. */
export interface Revocation {
  sid: string;
  until: number;
}

export type InvitationKind = 'owner';

/** An invitation; its secret is known to the invited alone, and the key of the record is a hash of it. */
export interface InvitationRecord {
  kind: InvitationKind;
  /** Unix seconds from which it is no longer exchanged. */
  expiresAt: number;
  /** Who exchanged it. */
  usedBy: string | undefined;
}

export const personRecord = recordOf<PersonRecord>('person', [
  'username',
  'state',
  'role',
  'passwordHash',
  'createdAt',
  'rev',
]);
export const revocationRecord = recordOf<Revocation>('revocation', ['sid', 'until']);
export const invitationRecord = recordOf<InvitationRecord>('invitation', ['kind', 'expiresAt', 'usedBy?']);

type PackedSession = [
  sid: string,
  iat: number,
  rnw: number,
  refresh?: PackedRefresh | null,
  seen?: [at: number, address: string] | null,
  instead?: InsteadOfFactor,
];
type PackedRefresh = [family: string, current: string, rotated: [string, Uint8Array, number, number] | null];
type PackedDevice = [
  id: string,
  name: string,
  platform: string,
  createdAt: string,
  usedAt: number,
  session: PackedSession | null,
];

/** All devices of a person in one value: there are few, and a sign-in needs them together. */
export const devicesRecord = {
  encode: (devices: readonly DeviceRecord[]): Buffer => pack(devices.map(packDevice)),
  decode: (value: Buffer): DeviceRecord[] => (unpack('list of devices', value) as PackedDevice[]).map(unpackDevice),
};

function packDevice({ id, name, platform, createdAt, usedAt, session }: DeviceRecord): PackedDevice {
  return [id, name, platform, createdAt, usedAt, session === undefined ? null : packSession(session)];
}

function packSession({ instead, sid, iat, rnw, refresh, seen }: LiveSession): PackedSession {
  if (instead !== undefined) {
    return [sid, iat, rnw, packRefresh(refresh), seen === undefined ? null : [seen.at, seen.address], instead];
  }
  if (seen !== undefined) return [sid, iat, rnw, packRefresh(refresh), [seen.at, seen.address]];
  return refresh === undefined ? [sid, iat, rnw] : [sid, iat, rnw, packRefresh(refresh)];
}

function packRefresh(refresh: RefreshState | undefined): PackedRefresh | null {
  if (refresh === undefined) return null;
  const { family, current, rotated } = refresh;
  const packed: PackedRefresh[2] =
    rotated === undefined ? null : [rotated.used, rotated.salt, rotated.at, rotated.before];
  return [family, current, packed];
}

function unpackDevice([id, name, platform, createdAt, usedAt, packed]: PackedDevice): DeviceRecord {
  return { id, name, platform, createdAt, usedAt, session: packed === null ? undefined : unpackSession(packed) };
}

function unpackSession([sid, iat, rnw, packed, seen, instead]: PackedSession): LiveSession {
  const used = seen === undefined || seen === null ? {} : { seen: { at: seen[0], address: seen[1] } };
  const live = { sid, iat, rnw, ...used, ...(instead === undefined ? {} : { instead }) };
  if (packed === undefined || packed === null) return live;
  const [family, current, turn] = packed;
  const rotated = turn === null ? undefined : { used: turn[0], salt: turn[1], at: turn[2], before: turn[3] };
  return { ...live, refresh: { family, current, rotated } };
}
