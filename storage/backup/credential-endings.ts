/**
 * What a restore does with everything that could open something (CRD-11). A restored folder does not know what was revoked, used
 * or given to somebody else since the backup, so each credential of it ends, and whoever is honest gets another one. What is left is
 * what people know or carry: passwords, authenticator apps, accounts at an identity provider.
 *
 * Every table and every collection has its line here. A test holds the lists equal to those that there are, so that whoever adds one
 * decides.
 */
import { formatInstant } from '#src/base/time.ts';
import type { AccountsDraft } from '../accounts/accounts-draft.ts';
import { SIGNING_SECRETS, type Accounts } from '../accounts/accounts.ts';
import type { Collection } from '../accounts/collections.ts';
import { Environment, mapBytesOf } from '../engine/environment.ts';
import { key } from '../engine/keys.ts';
import { pack, unpackAny } from '../engine/record-codec.ts';

type Fields = Readonly<Record<string, unknown>>;

/** `goes`, or what becomes of each: the same object where nothing does. */
type Ending = 'goes' | ((document: Fields, at: number, id: string) => Fields);

/** Documents looked at, and records removed, in one commit of a restore. */
const STEP = 1_000;

/** What the audit trail and lists name as who ended it. */
const BY = 'command';

/** The usernames of webhooks: bots of one purpose. */
const WEBHOOK_USER = /\.hook\.[0-9a-z]{22}$/;

/** Collections that hold credentials. */
const CREDENTIAL_ENDINGS: Readonly<Record<string, Ending>> = {
  app_passwords: 'goes',
  // The bot stays what it is, and is told that it wants another token.
  bots: (bot, at) => (bot['revokedAt'] === null ? { ...bot, tokenEndedAt: at } : bot),
  console_sessions: 'goes',
  enrollments: 'goes',
  // Revoked, so that their hosts are told so; under their names others may join.
  nodes: (node, at) =>
    node['state'] === 'revoked'
      ? node
      : { ...node, state: 'revoked', join: undefined, revokedAt: formatInstant(at), revokedBy: BY },
  // The device stays; one that was taken away since opens nothing alone before it was used beside the password.
  passkeys: (record) => {
    const keys = record['keys'] as readonly Fields[];
    const isAlone = keys.some((passkey) => passkey['isAlone'] === true);
    return isAlone ? { ...record, keys: keys.map((passkey) => ({ ...passkey, isAlone: false })) } : record;
  },
  email_codes: 'goes',
  password_resets: 'goes',
  publish_token: 'goes',
  recovery_codes: 'goes',
  // The app of a person stays; of the codes that were printed one may have been used since.
  second_factors: (factor) =>
    (factor['recoveryHashes'] as readonly string[]).length === 0 && factor['setupAt'] === null
      ? factor
      : { ...factor, recoveryHashes: [], setupAt: null },
  // The client stays with its people, and is told that it wants another token.
  scim_clients: (client) => (client['tokenHash'] === null ? client : { ...client, tokenHash: null }),
  vendor_tokens: (token, at) =>
    token['revokedAt'] === null ? { ...token, revokedBy: BY, revokedAt: Math.floor(at / 1_000) } : token,
  webhooks: 'goes',
};

/** Collections of what goes with them. */
const FOLLOWING_ENDINGS: Readonly<Record<string, Ending>> = {
  app_password_hashes: 'goes',
  foreign_session_holders: 'goes',
  foreign_sessions: 'goes',
  bot_directory: (entry, _at, id) => (WEBHOOK_USER.test(id) ? { ...entry, state: 'left' } : entry),
  node_health: 'goes',
  node_names: 'goes',
  node_totals: 'goes',
  // Mails that went since would go again, and lead to nothing.
  account_mails: 'goes',
  mailed_password_reset_links: 'goes',
  password_reset_links: 'goes',
  // It may have been taken back since, and what it takes does not come back.
  retention_shortening: 'goes',
  subscription_commands: 'goes',
  // Events of conversations would go to who was cut off since; whoever still wants them has them enabled.
  subscriptions: (subscription) => ({ ...subscription, isEnabled: false }),
};

/**
 * Collections that stay as they were: what people know, and whose account at a provider is whose; counts of wrong attempts, which
 * only who guesses would like to be forgotten; and what opens nothing. Links of meetings are sealed with a key that is made anew.
 */
const KEPT_COLLECTIONS = words(`
  break_glass console_identities console_identity_usernames person_identities person_identity_lists sso_owner_sign_ins sso_providers
  confirmed_emails security_notices security_notice_cursor code_attempts recovery_attempts passkey_holders second_factor_asked_since
  avatars alerts directory_groups audit_retention automation_cursor automation_deliveries automations bot_commands bot_uses client_releases console_roles
  directory_log directory_state email_holders emoji emoji_pictures emoji_totals given_emails erasures group_names group_totals groups guest_landings guest_phones guests held_conversations hosted_guest_totals hosted_guests
  hold_endings legal_hold meeting_attendance meeting_entries meeting_hosts meetings node_report_heads node_reports notifications orphaned_rooms personal_fields policies profiles
  resources resource_emails resource_totals
  scim_client_uses scim_groups scim_names scim_people scim_totals
  daily_use quota_warnings room_handovers settings status_ends subscription_cursors ticket_cursor vault_keys vault_secrets vendor_token_uses`);

/** Every collection that a restore knows what to do with. */
export const DECIDED_COLLECTIONS: readonly string[] = [
  ...Object.keys({ ...CREDENTIAL_ENDINGS, ...FOLLOWING_ENDINGS }),
  ...KEPT_COLLECTIONS,
];

/** Tables whose records all go. A published feed and an answer by a link of a mail are secret URLs. */
const GONE_TABLES = { accounts: ['invitations'], calendar: ['feeds', 'rsvps'] } as const;

/**
 * Every table that a restore knows what to do with. Of `devices` the sessions go, of `secrets` the keys that sign, of `documents` what
 * their collections say. A registration for pushes goes at the server's start, since its session, or its app password, is not there any more;
 * a link into a room lets nobody in, since it is of another epoch.
 */
export const DECIDED_TABLES: Readonly<Record<'accounts' | 'calendar' | 'lanes' | 'attachments', readonly string[]>> = {
  accounts: [...GONE_TABLES.accounts, ...words('people devices revocations secrets meta documents audit')],
  calendar: [
    ...GONE_TABLES.calendar,
    ...words(`
      calendars owned shares shared objects bodies uids times changes removals graves revisions unanswered properties subscriptions
      refreshes sources meetings bound unsettled alarms alarmed behind deeds messages deliveries answers letters mails registrations meta`),
  ],
  lanes: words(`
    conversations messages idempotency watermarks members memberships roster changes personal reactions reactionCounts pins senders
    deleted attachments references signatures segments mentions mentioned threads replies outcomes keptVersions roomInvitations
    invited roomLinks pushRegistrations pushOutbox pushCursors meta`),
  attachments: words('attachments contents unposted uploaded placed doomed'),
};

/** How many of each kind a restore ended. */
export type Ended = Readonly<Record<'sessions' | 'credentials', number>>;

/** Takes the keys that sign out of an accounts file that nobody has open: opening it makes new ones. */
export async function removeSigningKeys(accountsFile: string): Promise<void> {
  const environment = new Environment(accountsFile, ['secrets'], { mapBytes: mapBytesOf(accountsFile) });
  try {
    await environment.commit(SIGNING_SECRETS.map((name) => ({ table: 'secrets', key: key(name), value: null })));
  } finally {
    await environment.close();
  }
}

/** Ends every session and credential of the accounts, in bounded steps. `at` in milliseconds since 1970. */
export async function endCredentials(accounts: Accounts, at: number): Promise<Ended> {
  const sessions = await endSessions(accounts);
  const hashes = accounts.invitationHashes();
  await accounts.change((draft) => hashes.forEach((hash) => draft.remove('invitations', hash)));
  let credentials = hashes.length;
  for (const [name, ending] of Object.entries(CREDENTIAL_ENDINGS)) {
    credentials += await endCollection(accounts, name, ending, at);
  }
  for (const [name, ending] of Object.entries(FOLLOWING_ENDINGS)) await endCollection(accounts, name, ending, at);
  return { sessions, credentials };
}

/** Ends the documents of a collection; answers how many there were anything of to end. */
async function endCollection(accounts: Accounts, name: string, ending: Ending, at: number): Promise<number> {
  const collection = storedAs(name);
  let ended = 0;
  for (let page = accounts.documents(collection, { limit: STEP }); page.length > 0;) {
    ended += await accounts.change(
      (draft) => page.filter(({ id, document }) => end(draft, { collection, id, document, ending, at })).length,
    );
    page = accounts.documents(collection, { after: page.at(-1)?.id ?? '', limit: STEP });
  }
  return ended;
}

/** Ends what the calendar file holds of credentials; answers how many there were. */
export async function endCalendarCredentials(calendarFile: string): Promise<number> {
  const environment = new Environment(calendarFile, GONE_TABLES.calendar, { mapBytes: mapBytesOf(calendarFile) });
  try {
    let ended = 0;
    for (const table of GONE_TABLES.calendar) {
      for (;;) {
        const keys = [...environment.tables[table].getKeys({ limit: STEP })].map((itemKey) => Buffer.from(itemKey));
        if (keys.length === 0) break;
        await environment.commit(keys.map((itemKey) => ({ table, key: itemKey, value: null })));
        ended += keys.length;
      }
    }
    return ended;
  } finally {
    await environment.close();
  }
}

async function endSessions(accounts: Accounts): Promise<number> {
  let ended = 0;
  for (let page = accounts.people('', STEP); page.length > 0;) {
    ended += await accounts.change((draft) => {
      let live = 0;
      for (const { username } of page) {
        const devices = draft.devices(username);
        const signedIn = devices.filter(({ session }) => session !== undefined).length;
        if (signedIn === 0) continue;
        draft.putDevices(
          username,
          devices.map((device) => ({ ...device, session: undefined })),
        );
        live += signedIn;
      }
      return live;
    });
    page = accounts.people(page.at(-1)?.username ?? '', STEP);
  }
  return ended;
}

/** A document without its noun: its fields, and the version that they are of. */
interface Stored {
  readonly version: number;
  readonly fields: Fields;
}

interface Found {
  readonly collection: Collection<Stored>;
  readonly id: string;
  readonly document: Stored;
  readonly ending: Ending;
  readonly at: number;
}

/** Ends a document as part of a change; answers whether there was anything to end. */
function end(draft: AccountsDraft, { at, collection, document, ending, id }: Found): boolean {
  if (ending === 'goes') draft.removeDocument(collection, id);
  const after = ending === 'goes' ? undefined : ending(document.fields, at, id);
  if (after === document.fields) return false;
  if (after !== undefined) draft.putDocument(collection, id, { ...document, fields: after });
  return true;
}

/** A collection as its bytes are, whatever noun it is of. */
function storedAs(name: string): Collection<Stored> {
  return {
    name,
    encode: ({ fields, version }) => pack(fields, 'undefined', version),
    decode: (value) => ({ version: value[0] ?? 0, fields: unpackAny(value) as Fields }),
  };
}

function words(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}
