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

type PackedSession = [sid: string, iat: number, rnw: number];
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

function packDevice(d: DeviceRecord): PackedDevice {
  const session: PackedSession | null = d.session === undefined ? null : [d.session.sid, d.session.iat, d.session.rnw];
  return [d.id, d.name, d.platform, d.createdAt, d.usedAt, session];
}

function unpackDevice([id, name, platform, createdAt, usedAt, packed]: PackedDevice): DeviceRecord {
  const session = packed === null ? undefined : { sid: packed[0], iat: packed[1], rnw: packed[2] };
  return { id, name, platform, createdAt, usedAt, session };
}
