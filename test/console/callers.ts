/**
 * Every kind of caller that the console can meet, with the credential of each, planted in a data folder before a
 * server starts on it: so that a token can be a year older than the test.
 */
import { Bots } from '#src/integrations/bots.ts';
import { ConsoleSessions, BREAK_GLASS_HOLDER } from '#src/identity/console/console-sessions.ts';
import { consoleRoles } from '#src/identity/console/console-role-record.ts';
import { makeNodeServices } from '#src/hosts/node-services.ts';
import { addPerson } from '#src/directory/people.ts';
import { openSession } from '#src/identity/device-sessions.ts';
import { VendorTokens } from '#src/identity/vendor-tokens.ts';
import { Passwords } from '#src/identity/credentials/passwords.ts';
import { SessionTokens } from '#src/identity/credentials/session-tokens.ts';
import { systemClock, unixSeconds, type Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import { readConfig } from '#src/config.ts';
import type { PersonConsoleRole } from '#src/identity/console/permissions.ts';
import type { Principal } from '#src/identity/console/principal.ts';
import { Accounts } from '#storage/accounts/accounts.ts';
import { openFolder } from '#storage/engine/folder.ts';

/** Caller → the headers that it sends. */
export type Callers = Readonly<Record<CallerName, Readonly<Record<string, string>>>>;
export const CALLER_NAMES = [
  'nobody',
  'messaging_session',
  'bot',
  'service',
  'node',
  'before_second_factor',
  'viewer',
  'administrator',
  'owner',
  'owner_before_step_up',
  'break_glass',
  'vendor_active',
  'vendor_revoked',
  'vendor_expired',
  'vendor_unknown',
] as const;
export type CallerName = (typeof CALLER_NAMES)[number];

/** A person of each role, and one who is still to set up a second factor. */
const PEOPLE = ['owner', 'administrator', 'viewer', 'newcomer', 'someone'] as const;
export const CALLER_PASSWORD = 'a long enough password';
const LANES = 4;
const STEPPED_UP_MILLIS = 3_600_000;
const TWO_YEARS_MILLIS = 2 * 365 * 24 * 3_600_000;

const BY_OWNER = { actor: 'user:owner', address: null } as const;

const owner: Principal = {
  kind: 'person',
  username: 'owner',
  role: 'owner',
  signIn: 'password',
  sid: 's_planting',
  isFull: true,
  steppedUpUntil: 0,
};

/** Makes a data folder that knows every caller. */
export async function plantCallers(folder: string): Promise<Callers> {
  openFolder(folder, LANES, formatInstant(systemClock.now()));
  const accounts = await Accounts.open(folder);
  try {
    await plantPeople(accounts);
    const sessions = await plantSessions(accounts);
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
    const vendor = await plantVendorTokens(accounts);
    return {
      nobody: {},
      messaging_session: bearer(await openMessagingSession(accounts)),
      bot: bearer(await makeBot(accounts)),
      service: bearer('svc_messaging_0123456789abcdefghjkmnpqrstv'),
      node: { 'x-node-token': await joinNode(accounts) },
      before_second_factor: { 'x-admin-token': sessions.newcomer },
      viewer: bearer(sessions.viewer),
      administrator: bearer(sessions.administrator),
      owner: { 'x-admin-token': sessions.owner },
      owner_before_step_up: { 'x-admin-token': sessions.ownerBeforeStepUp },
      break_glass: bearer(sessions.breakGlass),
      vendor_active: bearer(vendor.active),
      vendor_revoked: { 'x-admin-token': vendor.revoked },
      vendor_expired: bearer(vendor.expired),
      vendor_unknown: { 'x-admin-token': `svc_vst_${'0'.repeat(22)}_${'A'.repeat(43)}` },
    };
  } finally {
    await accounts.close();
  }
}

async function plantPeople(accounts: Accounts): Promise<void> {
  const passwords = await Passwords.make(64);
  const passwordHash = await passwords.hash(CALLER_PASSWORD);
  const now = systemClock.now();
  await accounts.change((draft) => {
    for (const username of PEOPLE) {
      addPerson(draft, { username, passwordHash, role: username === 'owner' ? 'owner' : 'person', now });
      if (username === 'owner' || username === 'someone') continue;
      const role: PersonConsoleRole = username === 'administrator' ? 'administrator' : 'viewer';
      draft.putDocument(consoleRoles, username, { role, since: formatInstant(now), by: 'command' });
    }
  });
}

async function plantSessions(accounts: Accounts) {
  const sessions = new ConsoleSessions({ accounts, config: readConfig({}), log: { warn: () => undefined } });
  const open = async (holder: string, signIn: 'password' | 'break_glass', isFull: boolean, steppedUp = false) =>
    await accounts.change((draft) => {
      const now = systemClock.now();
      // Longer than any file of tests takes.
      const more = steppedUp ? { steppedUpAt: now + STEPPED_UP_MILLIS } : {};
      return sessions.open(draft, holder, { signIn, isFull, address: '127.0.0.1', now, ...more }).token;
    });
  return {
    owner: await open('owner', 'password', true, true),
    ownerBeforeStepUp: await open('owner', 'password', true),
    administrator: await open('administrator', 'password', true, true),
    viewer: await open('viewer', 'password', true),
    newcomer: await open('newcomer', 'password', false),
    breakGlass: await open(BREAK_GLASS_HOLDER, 'break_glass', true, true),
  };
}

async function plantVendorTokens(accounts: Accounts) {
  const issue = async (name: string, clock: Clock): Promise<{ token: string; id: string }> => {
    const form = { name, vendor: 'parley', purpose: 'to test who gets in', term_days: 365 } as const;
    const { token, record } = await new VendorTokens({ accounts, clock }).issue(owner, form, '127.0.0.1');
    return { token, id: record.id };
  };
  const longAgo: Clock = { now: () => systemClock.now() - TWO_YEARS_MILLIS };
  const revoked = await issue('revoked', systemClock);
  await new VendorTokens({ accounts, clock: systemClock }).revoke(owner, revoked.id, '127.0.0.1');
  return {
    active: (await issue('active', systemClock)).token,
    revoked: revoked.token,
    expired: (await issue('expired', longAgo)).token,
  };
}

async function openMessagingSession(accounts: Accounts): Promise<string> {
  const now = systemClock.now();
  const iat = unixSeconds(now);
  const { deviceId, session } = await accounts.change((draft) =>
    openSession(draft, 'someone', { device: undefined, deviceId: undefined, now, renewSeconds: 3600 }),
  );
  const claims = { sub: 'someone', sid: session.sid, dev: deviceId, iat, exp: iat + 900, rnw: session.rnw };
  return new SessionTokens(accounts.signingKeys('session_keys')).sign(claims);
}

async function makeBot(accounts: Accounts): Promise<string> {
  const bots = new Bots({
    accounts,
    clock: systemClock,
    announce: async () => undefined,
    directoryChanged: () => undefined,
  });
  const form = { name: 'reader', display_name: 'Reader', scopes: ['messages:read'], conversations: [] } as const;
  return (await bots.make(form, BY_OWNER)).token;
}

async function joinNode(accounts: Accounts): Promise<string> {
  const { nodes } = makeNodeServices(accounts, systemClock);
  const { joinToken } = await nodes.create({ name: 'host', roles: ['gateway'] }, BY_OWNER);
  const form = { join_token: joinToken, hostname: 'host', agent_version: '1.0.0', os: 'Linux' };
  return (await nodes.join(form, '127.0.0.1')).token;
}
