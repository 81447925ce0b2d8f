/**
 * The sessions of a person’s devices, as part of a change: opened, and ended with what revokes them. A session lives in the device it was
 * made on, and a device has one.
 */
import { unixSeconds } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import { formatInstant } from '#src/base/time.ts';
import type { DeviceRecord, InsteadOfFactor, LiveSession } from '#storage/accounts/account-records.ts';
import type { AccountsDraft } from '#storage/accounts/accounts.ts';
import { makeRefreshToken } from './credentials/refresh-tokens.ts';
import type { Revocation } from './credentials/revocations.ts';

/**
 * Devices of one person; the quota `devices` may say fewer. A script that signs in without the device id it was given makes a new one every time; beyond
 * this the one that has not signed in for longest goes, and its session with it.
 */
export const DEVICES_PER_PERSON_MAX = 100;

/** What a device says of itself at sign-in. */
export interface DeviceSaid {
  readonly name: string;
  readonly platform: string;
}

export interface OpenSession {
  /** Where from; sessions of a seed are used by nobody yet. */
  readonly address?: string;
  readonly device: DeviceSaid | undefined;
  readonly deviceId: string | undefined;
  readonly instead?: InsteadOfFactor | undefined;
  /** DEVICES_PER_PERSON_MAX without it. */
  readonly devicesMax?: number | undefined;
  /** Milliseconds. */
  readonly now: number;
  readonly renewSeconds: number;
}

export interface OpenedSession {
  readonly deviceId: string;
  readonly session: LiveSession;
  /** Renews it first. Known to whoever it is told now, and to nobody else. */
  readonly refreshToken: string;
  /** Sessions that ended with it: the device's previous one, and that of a device that had to go. */
  readonly revoked: readonly Revocation[];
}

/** Opens a session on a device of the person, as part of a change. */
export function openSession(draft: AccountsDraft, username: string, open: OpenSession): OpenedSession {
  const iat = unixSeconds(open.now);
  const devices = draft.devices(username);
  // A device id that is not this person's names nothing: the client gets one of its own.
  const known = devices.find((device) => device.id === open.deviceId);
  const device = known ?? makeDevice(open);
  const revoked = known?.session === undefined ? [] : [known.session];
  const sid = makeId('s', open.now);
  const { state, token } = makeRefreshToken(username, sid);
  const seen = open.address === undefined ? undefined : { at: iat, address: open.address };
  const session = { sid, iat, rnw: iat + open.renewSeconds, refresh: state, seen, instead: open.instead };
  Object.assign(device, { usedAt: iat, session }, open.device);
  if (known === undefined) {
    const most = Math.max(1, open.devicesMax ?? DEVICES_PER_PERSON_MAX);
    while (devices.length >= most) revoked.push(...dropOldest(devices));
    devices.push(device);
  }
  const revocations = revoked.filter(({ rnw }) => rnw >= iat).map((ended) => ({ sid: ended.sid, until: ended.rnw }));
  for (const revocation of revocations) draft.putRevocation(revocation);
  draft.putDevices(username, devices);
  return { deviceId: device.id, session, refreshToken: token, revoked: revocations };
}

/** Ends every session of a person, but that of `except`, as part of a change; their devices stay known. */
export function endSessions(draft: AccountsDraft, username: string, except?: string): Revocation[] {
  return endThose(draft, username, ({ sid }) => sid !== except);
}

/**
 * Has the session in which a person set up a factor be as any other, as part of that change, and ends the others that were to set
 * one up, `unproven` among them: none of them has proven the one there is now.
 */
export function settleEnrollment(
  draft: AccountsDraft,
  username: string,
  sid: string,
  unproven: ReadonlySet<string>,
): Revocation[] {
  const devices = draft.devices(username);
  const own = devices.find(({ session }) => session?.sid === sid)?.session;
  if (own?.instead === 'enrollment') {
    own.instead = undefined;
    draft.putDevices(username, devices);
  }
  const isUnproven = (session: LiveSession) => session.instead === 'enrollment' || unproven.has(session.sid);
  return endThose(draft, username, (session) => isUnproven(session) && session.sid !== sid);
}

function endThose(draft: AccountsDraft, username: string, isMeant: (session: LiveSession) => boolean): Revocation[] {
  const devices = draft.devices(username);
  const ending = devices.filter(({ session }) => session !== undefined && isMeant(session));
  const ended = ending.flatMap(({ session }) =>
    session === undefined ? [] : [{ sid: session.sid, until: session.rnw }],
  );
  for (const device of ending) device.session = undefined;
  for (const revocation of ended) draft.putRevocation(revocation);
  if (ended.length > 0) draft.putDevices(username, devices);
  return ended;
}

function makeDevice(open: OpenSession): DeviceRecord {
  const createdAt = formatInstant(open.now);
  return { id: makeId('d', open.now), name: 'unnamed', platform: 'other', createdAt, usedAt: 0, session: undefined };
}

/** Takes out the device that has not signed in for longest; its session, if it has one, is to be revoked. */
function dropOldest(devices: DeviceRecord[]): LiveSession[] {
  const oldest = devices.reduce((least, device) => (device.usedAt < least.usedAt ? device : least));
  devices.splice(devices.indexOf(oldest), 1);
  return oldest.session === undefined ? [] : [oldest.session];
}
