/**
 * The settings screens of the console as one table: every field with its form, whether it is a secret, and what it
 * does. Secrets lie in the vault and are never answered (CON-02, VND-10); the rest lies in the screen's document.
 */
import { z } from 'zod';
import { PARTICIPANTS_MAX, RETENTION_SECONDS_MAX, RETENTION_SECONDS_MIN } from '#src/protocol/limits.ts';
import { OWN_SETTINGS, type OwnField } from '#src/protocol/account/profile.ts';
import { QUOTAS, type QuotaField, type QuotaName } from '#src/protocol/quotas.ts';
import { LANGUAGES } from '#src/protocol/languages.ts';
import { isIceUriList } from '#src/protocol/calls/calls.ts';
import { isTargetUrl } from '#src/outgoing/targets.ts';
import { SIGN_IN_SOURCES } from '#src/identity/sign-in-switches.ts';
import { isFilter } from '#src/identity/ldap/ldap-directory.ts';
import { readRedirects } from '#src/identity/single-sign-on/app-redirects.ts';
import { ssoSettings } from '#src/identity/single-sign-on/sso-settings.ts';
import { GRANTING_SETTINGS, groupIds } from './granting-screens.ts';
import { isCertificate, isPrivateKey, isServiceAccount } from './credential-forms.ts';

interface AnyField {
  readonly schema: z.ZodType;
  /** It may name a person, in no form that is known as one: the trail says that it changed, and not to what. */
  readonly isPersonal?: true;
  /** What the screen cannot do without. */
  readonly isRequired?: true;
  readonly say: string;
}

/** What is answered as it was set. */
interface PlainField extends AnyField {
  readonly isSecret?: undefined;
  /** It gives roles of the console: none above the role of who sets it. */
  readonly isRoleMap?: true;
}

/** Kept in the vault, as text, and answered as set or not set. */
interface SecretField extends AnyField {
  readonly isSecret: true;
  /**
   * The fields that say where the secret goes (CRD-14): when one of them changes and the secret is not given anew, it
   * is gone. Nothing for a secret that never leaves this server.
   */
  readonly goesTo: readonly string[];
}

export type SettingField = PlainField | SecretField;

/** What of the server goes by a screen: in words, and the modules in which every field of it is read. */
interface SettingReader {
  readonly say: string;
  readonly modules: readonly string[];
}

export interface SettingScreen {
  /** What it is for. */
  readonly say: string;
  /** What goes by it. */
  readonly readBy: SettingReader;
  /** When a change counts, and for whom. */
  readonly effect: string;
  /** There is a check that can be made from here. */
  readonly isTestable?: true;
  /** It holds what a vendor token has no business with: the contract opens the others, by name. */
  readonly isClosedToVendors?: true;
  /**
   * It decides who gets in, by what, what of the installation goes for good, or where people's files go: owners alone
   * change it (VND-17).
   */
  readonly isOwners?: true;
  readonly fields: Readonly<Record<string, SettingField>>;
}

/** The longest secret: a service account of Google has 2,400 characters, a chain of certificates some 10,000. */
const SECRET_LENGTH_MAX = 32_768;
const CHAIN_LENGTH_MAX = 65_536;

/** As the configuration asks of it: what is shorter can be found out from one person's credentials. */
const TURN_SECRET_LENGTH_MIN = 16;
/** Longer than a call takes to be set up, and shorter than somebody who left may go on. */
const TURN_SECONDS_MIN = 600;
const TURN_SECONDS_MAX = 86_400;

/** Beyond a quarter nobody is asked for anything. */
const GRACE_DAYS_MAX = 90;

const line = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^\P{Cc}*[^\s\p{Cc}]\P{Cc}*$/u);
const secret = line(4_096);
const url = (...schemes: string[]) =>
  z
    .string()
    .max(2_000)
    // Whoever reads the screen reads this: keys in a query would be no secret any more.
    .refine((text) => isTargetUrl(text, schemes) && !/[?#]/.test(text), 'A URL without a password or a query in it.');
const https = url('https:');
/** Of a host name: labels of letters, digits and hyphens, at least two; short enough to name its key with a selector. */
const domain = z
  .string()
  .max(128)
  .regex(/^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/);
/** A host name of any number of labels, or an IP address. */
const host = z.union([
  z.ipv4(),
  z.ipv6(),
  z
    .string()
    .max(253)
    .regex(/^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?$/),
]);
const keyOf = (isRight: (type: string | undefined) => boolean) =>
  z
    .string()
    .max(SECRET_LENGTH_MAX)
    .refine((text) => isPrivateKey(text, isRight), 'A private key in PEM, without a passphrase.');

/** A field for each quota of a person, and one for each of all people together. */
function quotaFields(): Readonly<Record<QuotaField, PlainField>> {
  const fields = Object.entries(QUOTAS).flatMap(([name, { most, ofAll, unit, window }]) => {
    const schema = z.int().min(1).max(most);
    const often = window === 'stored' ? '' : window === 'day' ? ' a day' : ' in 30 days';
    const own = [name, { schema, say: `A person’s ${unit}${often} (${name}); the default without it.` }];
    const all = [
      `installation_${name}`,
      { schema, say: `All people’s ${unit}${often} (${name}); no bound without it.` },
    ];
    return ofAll ? [own, all] : [own];
  });
  return Object.fromEntries(fields) as Record<QuotaName, PlainField> & Record<QuotaField, PlainField>;
}

/** A switch for each field that people may change of themselves. */
function ownFields(): Readonly<Record<OwnField, PlainField>> {
  const fields = OWN_SETTINGS.map((name): [OwnField, PlainField] => [
    name,
    { schema: z.boolean(), say: `Whether people change their own ${name}; they do without it.` },
  ]);
  return Object.fromEntries(fields) as Record<OwnField, PlainField>;
}

/** The name of an attribute (RFC 4512, section 1.4). */
const attribute = z.string().regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/);
/** A round reads everybody: oftener than this the server has no rest. */
const LDAP_SYNC_SECONDS_MIN = 1;
const LDAP_SYNC_SECONDS_MAX = 86_400;

const { shape: sso } = ssoSettings;
const LIVE = 'At once, from the next sign-in on.';
const AT_NEXT_USE = 'At once: it is read at every use.';
const base = { schema: https, isRequired: true, say: 'Base URL of its API, https.' } as const;

export const SETTING_SCREENS = {
  sso: {
    say: 'Sign-in to the console at an OpenID Connect provider.',
    readBy: {
      say: 'Sign-in to the console at the provider.',
      modules: ['src/identity/single-sign-on/sso-settings.ts', 'src/settings/settings.ts'],
    },
    effect: LIVE,
    isOwners: true,
    fields: {
      issuer: { schema: sso.issuer, isRequired: true, say: 'The issuer, under which the metadata is found.' },
      client_id: { schema: sso.client_id, isRequired: true, say: 'The client that this server is at the provider.' },
      client_secret: {
        schema: secret,
        goesTo: ['issuer'],
        isSecret: true,
        say: 'Its secret; without one the client is public.',
      },
      redirect_uri: { schema: sso.redirect_uri, isRequired: true, say: 'The page that the provider sends back to.' },
      scope: { schema: sso.scope.unwrap(), say: 'What is asked for; openid profile without it.' },
      username_claim: { schema: sso.username_claim.unwrap(), say: 'The claim with the username.' },
      roles_claim: { schema: sso.roles_claim.unwrap(), say: "The claim with the account's roles." },
      groups_claim: { schema: sso.groups_claim.unwrap(), say: "The claim with the account's groups." },
      roles: { schema: sso.roles.unwrap(), isRoleMap: true, say: 'Role at the provider → role in the console.' },
      groups: { schema: sso.groups.unwrap(), isRoleMap: true, say: 'Group at the provider → role in the console.' },
      bind_by_email: {
        schema: sso.bind_by_email.unwrap(),
        say: 'Whether an address that the provider has verified binds an account; no without it, and never an owner.',
      },
    },
  },
  'sign-in': {
    say: 'Where people sign in, to the console and with their apps. With identity no password signs in anywhere.',
    readBy: {
      say: 'Every sign-in, to the console and with apps.',
      modules: ['src/settings/settings.ts'],
    },
    effect: LIVE,
    isOwners: true,
    fields: {
      sign_in_mode: { schema: z.enum(SIGN_IN_SOURCES), say: 'Whose page people sign in on; local without it.' },
      platform_token: { schema: z.enum(SIGN_IN_SOURCES), say: 'Whose tokens are taken; local without it.' },
      app_redirects: {
        schema: z
          .string()
          .max(8_000)
          .refine((text) => readRedirects(text) !== undefined, 'https, loopback or private-scheme URLs with commas.'),
        say: 'Addresses of apps, separated by commas, that signing in at a provider may lead back to, letter by letter; http://127.0.0.1/… with any port. Without it no app signs in by a provider.',
      },
    },
  },
  'second-factors': {
    say: 'Whom this installation wants to have a second factor when signing in with apps. The console wants one of everybody anyway.',
    readBy: {
      say: 'Every sign-in with an app, and every renewal.',
      modules: ['src/directory/second-factor-rule.ts'],
    },
    effect: 'At once for sign-ins; for those who are signed in when their token is renewed.',
    isClosedToVendors: true,
    isOwners: true,
    fields: {
      everybody: { schema: z.boolean(), say: 'Whether everybody has to have one, guests included.' },
      groups: {
        schema: groupIds,
        say: 'Groups, by their ids with commas between, whose members have to have one.',
      },
      grace_days: {
        schema: z.int().min(0).max(GRACE_DAYS_MAX),
        say: 'Days for which a person without one is let in as before, from the first sign-in on that is told so; none without it.',
      },
      exempt_providers: {
        schema: z.boolean(),
        say: 'Whether sessions that a provider opened need none, since it asks for its own; yes without it.',
      },
    },
  },
  apns: {
    say: 'Credentials for pushes to Apple devices.',
    readBy: { say: 'Pushes to Apple devices.', modules: ['src/settings/push-credentials.ts'] },
    effect: AT_NEXT_USE,
    fields: {
      team_id: { schema: z.string().regex(/^[A-Z0-9]{10}$/), isRequired: true, say: 'The team, ten characters.' },
      key_id: { schema: z.string().regex(/^[A-Z0-9]{10}$/), isRequired: true, say: 'The key, ten characters.' },
      topic: { schema: z.string().regex(/^[A-Za-z0-9.-]{1,155}$/), isRequired: true, say: "The app's bundle id." },
      environment: { schema: z.enum(['production', 'sandbox']), say: 'Which gateway; production without it.' },
      private_key: {
        schema: keyOf((type) => type === 'ec'),
        isSecret: true,
        goesTo: ['environment'],
        isRequired: true,
        say: 'The .p8 key in PEM.',
      },
    },
  },
  fcm: {
    say: 'Credentials for pushes through Firebase.',
    readBy: { say: 'Pushes through Firebase.', modules: ['src/settings/push-credentials.ts'] },
    effect: AT_NEXT_USE,
    fields: {
      project_id: {
        schema: z.string().regex(/^[a-z][a-z0-9-]{4,28}[a-z0-9]$/),
        isRequired: true,
        say: 'The project at Firebase.',
      },
      service_account: {
        schema: z.string().max(SECRET_LENGTH_MAX).refine(isServiceAccount, 'A service account as JSON.'),
        isSecret: true,
        goesTo: ['project_id'],
        isRequired: true,
        say: 'The JSON file of the service account, whole.',
      },
    },
  },
  turn: {
    say: 'STUN and TURN servers that media of calls go over. While it is empty those of the configuration count.',
    readBy: { say: '`GET /v1/calls/ice`, which devices in calls ask.', modules: ['src/settings/media-servers.ts'] },
    effect: 'Within a second or two, for whoever asks next. While encryption at rest is locked TURN is left out.',
    fields: {
      uris: {
        schema: z.string().max(2_000).refine(isIceUriList, 'stun:, turn: or turns: URIs, separated by commas.'),
        isRequired: true,
        say: 'stun:, turn: and turns: URIs, separated by commas.',
      },
      secret: {
        schema: secret.min(TURN_SECRET_LENGTH_MIN),
        isSecret: true,
        goesTo: ['uris'],
        say: 'Secret shared with the TURN servers (static-auth-secret of coturn). TURN URIs need it, STUN does not.',
      },
      credential_seconds: {
        schema: z.int().min(TURN_SECONDS_MIN).max(TURN_SECONDS_MAX),
        say: 'How long credentials last, from ten minutes to a day; six hours without it.',
      },
    },
  },
  'ai-keys': {
    say: 'A language model that answers `/chat/completions`.',
    readBy: {
      say: 'Tickets for alerts, which it gives advice for: it is told the kind of the alert and nothing of this installation.',
      modules: ['src/integrations/alert-tickets.ts'],
    },
    effect: AT_NEXT_USE,
    fields: {
      base_url: base,
      model: { schema: line(200), say: 'The model that is asked.' },
      api_key: {
        schema: secret,
        goesTo: ['base_url'],
        isSecret: true,
        isRequired: true,
        say: 'The key that is sent as Bearer.',
      },
    },
  },
  simpleone: {
    say: 'A service desk of the SimpleOne type that takes tickets.',
    readBy: {
      say: 'Every alert that is raised: a ticket is opened for it.',
      modules: ['src/integrations/alert-tickets.ts'],
    },
    effect: AT_NEXT_USE,
    fields: {
      base_url: base,
      username: { schema: line(200), isRequired: true, say: 'The account of the integration.' },
      password: { schema: secret, isSecret: true, goesTo: ['base_url'], isRequired: true, say: 'Its password.' },
    },
  },
  hrms: {
    say: 'A personnel system that says who has left.',
    readBy: {
      say: 'Every 15 minutes and at each change, the pull of who has left: they are blocked.',
      modules: ['src/directory/personnel-pull.ts'],
    },
    effect: AT_NEXT_USE,
    fields: {
      base_url: { ...base, say: 'URL below which it has `/people`, https.' },
      api_token: {
        schema: secret,
        goesTo: ['base_url'],
        isSecret: true,
        isRequired: true,
        say: 'The token of the integration.',
      },
    },
  },
  ldap: {
    say: 'A directory server (LDAP, Active Directory) whose people sign in with their password of it, and whose people and groups are kept here as they are there.',
    readBy: {
      say: 'Every sign-in with an app, and the round that keeps people and groups.',
      modules: ['src/settings/ldap-settings.ts'],
    },
    effect: 'At once for sign-ins; for people and groups with a round that begins within five seconds.',
    isOwners: true,
    isTestable: true,
    fields: {
      url: { schema: url('ldap:', 'ldaps:'), isRequired: true, say: 'ldaps://host:636, or ldap:// for a plain one.' },
      bind_dn: { schema: line(1_000), isRequired: true, say: 'Whom to bind as.' },
      bind_password: {
        schema: secret,
        goesTo: ['url', 'start_tls'],
        isSecret: true,
        isRequired: true,
        say: 'The password of the bind.',
      },
      base_dn: { schema: line(1_000), isRequired: true, say: 'Below which people are.' },
      user_filter: {
        schema: line(1_000).refine(isFilter, 'A filter (RFC 4515).'),
        say: 'Which entries are people; (objectClass=person) without it.',
      },
      start_tls: {
        schema: z.boolean(),
        say: 'Whether ldap:// turns to TLS before anything is said; yes without it. With no, passwords travel in the clear.',
      },
      certificate: {
        schema: z.string().max(CHAIN_LENGTH_MAX).refine(isCertificate, 'A certificate in PEM.'),
        say: 'The certificate that vouches for the server, where it is none of the public ones.',
      },
      username_attribute: {
        schema: attribute,
        say: 'What people sign in with; uid without it, sAMAccountName for Active Directory.',
      },
      id_attribute: {
        schema: attribute,
        say: 'The id of an entry that outlives its name; entryUUID without it, objectGUID for Active Directory.',
      },
      name_attribute: { schema: attribute, say: 'The name that others read; cn without it.' },
      mail_attribute: { schema: attribute, say: 'The mail address; mail without it.' },
      group_base_dn: { schema: line(1_000), say: 'Below which groups are; without it none are taken.' },
      group_filter: {
        schema: line(1_000).refine(isFilter, 'A filter (RFC 4515).'),
        say: 'Which entries are groups; groupOfNames, groupOfUniqueNames and group without it.',
      },
      creates_people: { schema: z.boolean(), say: 'Whether people of the server get accounts here; no without it.' },
      sync_seconds: {
        schema: z.int().min(LDAP_SYNC_SECONDS_MIN).max(LDAP_SYNC_SECONDS_MAX),
        say: 'How long after a round the next one begins; 30 without it. Who is disabled there is out within a minute all the same, who is gone with the next round.',
      },
      block_percent_max: {
        schema: z.int().min(1).max(100),
        say: 'A round that would block more than this share of the people, and more than three, stops with an alert; 10 without it.',
      },
    },
  },
  'external-stores': {
    say: 'An object store of the S3 type, in which contents of attachments may lie.',
    readBy: {
      say: 'Whatever reads, keeps and removes contents of attachments.',
      modules: ['src/settings/object-store-settings.ts'],
    },
    effect:
      'Within a second. With attachments kept there, what lies on the disk of the server goes there one by one; with no, what lies there comes back.',
    isTestable: true,
    isOwners: true,
    fields: {
      endpoint: {
        schema: url('https:', 'http:'),
        isRequired: true,
        say: 'URL of the store; the bucket goes into the path.',
      },
      region: { schema: z.string().regex(/^[a-z0-9-]{1,64}$/), say: 'The region; us-east-1 without it.' },
      bucket: { schema: z.string().regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/), isRequired: true, say: 'The bucket.' },
      access_key_id: { schema: z.string().regex(/^[\w:.@/+=$-]{3,128}$/), isRequired: true, say: 'The id of the key.' },
      secret_access_key: {
        schema: secret,
        goesTo: ['endpoint', 'region', 'bucket'],
        isSecret: true,
        isRequired: true,
        say: 'The key.',
      },
      keeps_attachments: {
        schema: z.boolean(),
        say: 'Whether contents of attachments are kept there, those from before included; no without it, and then what lies there comes back to the disk.',
      },
    },
  },
  tls: {
    say: 'The certificate of the public name, with its key. Its end raises an alert 14 days before.',
    readBy: {
      say: 'The alert of a certificate that ends; the key is held against the certificate and goes nowhere.',
      modules: ['src/settings/settings.ts', 'src/settings/setting-tests.ts'],
    },
    effect: 'At once for the alert. Listeners of this server speak plain HTTP: TLS ends in the proxy in front.',
    isTestable: true,
    fields: {
      certificate: {
        schema: z.string().max(CHAIN_LENGTH_MAX).refine(isCertificate, 'A certificate in PEM, its chain behind it.'),
        isRequired: true,
        say: 'The certificate in PEM, the chain behind it.',
      },
      private_key: { schema: keyOf(() => true), goesTo: [], isSecret: true, isRequired: true, say: 'Its key in PEM.' },
    },
  },
  mail: {
    say: "The domain that mail is sent from: what its DNS records say, the DKIM record's key included, the server that sends it, and whom calendar mail that comes in is believed.",
    readBy: {
      say: 'Mail that leaves, calendar mail that comes in, and the DNS records to publish.',
      modules: ['src/settings/mail-dns.ts', 'src/settings/mail-settings.ts', 'src/settings/mail-trust.ts'],
    },
    effect:
      'At the next read of the records to publish; for the next mail that leaves, and for mail that comes in at once.',
    isTestable: true,
    isClosedToVendors: true,
    fields: {
      domain: { schema: domain, isRequired: true, say: 'The domain, in lower case.' },
      dkim_selector: {
        schema: z.string().regex(/^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/),
        say: 'The selector; parley without it.',
      },
      spf: {
        schema: z.string().regex(/^v=spf1(?: [\x21-\x7e]+){1,40}$/),
        say: 'The SPF record; v=spf1 mx -all without it.',
      },
      dmarc_policy: {
        schema: z.enum(['none', 'quarantine', 'reject']),
        say: 'What to do with forged mail; quarantine without it.',
      },
      dmarc_reports: { schema: z.email().max(254), say: 'Where reports go; nowhere without it.' },
      trusted_authserv_id: {
        schema: z.string().regex(/^[\x21\x23-\x3a\x3c\x3e-\x5b\x5d-\x7e]{1,253}$/),
        say: 'The name under which your mail server writes Authentication-Results; no calendar mail is taken without it.',
      },
      trusted_hops: {
        schema: z.int().min(0).max(5),
        say: 'Received lines that your own hosts put above those results; 0 without it.',
      },
      trusted_agents: {
        schema: z
          .string()
          .max(2_000)
          .regex(/^[^\s,@]+@[^\s,@]+(?:\s*,\s*[^\s,@]+@[^\s,@]+)*$/),
        say: 'Addresses, separated by commas, of calendar services outside that send for their users; never for people here.',
      },
      smtp_host: { schema: host, say: 'The server that takes outgoing mail; without it no mail is sent.' },
      smtp_port: { schema: z.int().min(1).max(65_535), say: 'Its port; 587 without it.' },
      smtp_security: {
        schema: z.enum(['starttls', 'tls', 'none']),
        say: 'starttls without it; none sends mail and password in the clear.',
      },
      smtp_username: {
        schema: line(200),
        isPersonal: true,
        say: 'The account to sign in as; without one nobody signs in.',
      },
      smtp_password: {
        schema: secret,
        goesTo: ['smtp_host', 'smtp_port', 'smtp_security'],
        isSecret: true,
        say: 'Its password.',
      },
      language: {
        schema: z.enum(LANGUAGES),
        say: 'The language of calendar mail to people outside, and to people here who chose none; en without it.',
      },
      from: { schema: z.email().max(254), say: 'The address that mail is sent from; calendar@ the domain without it.' },
    },
  },
  retention: {
    say: 'How long messages are kept. A conversation may keep them for a shorter time.',
    readBy: {
      say: 'Every reader of messages, and the sweep that takes what is over its time off the disk.',
      modules: ['src/compliance/retention.ts'],
    },
    effect:
      'Longer at once. Shorter a day after it was confirmed: what is older is then unreadable, and off the disk soon after. It does not come back.',
    isOwners: true,
    isClosedToVendors: true,
    fields: {
      seconds: {
        schema: z.int().min(RETENTION_SECONDS_MIN).max(RETENTION_SECONDS_MAX),
        say: 'In seconds, from a minute to ten years; for ever without it. Shorter by PUT /admin/api/retention/shortening alone.',
      },
    },
  },
  profiles: {
    say: 'What people change of their own profiles. What is kept elsewhere, in a directory or by the personnel office, is switched off here.',
    readBy: {
      say: '`PATCH /v1/me`, which refuses the fields that are off.',
      modules: ['src/server/account/own-account.ts', 'src/protocol/account/profile.ts'],
    },
    effect: 'At once. What people wrote before stays until somebody changes it.',
    isClosedToVendors: true,
    fields: ownFields(),
  },
  'room-invitations': {
    say: 'When people who are added to a room are asked first. Whoever is asked sees the title, the size and who asks, and takes part once they accept. Bots, people who come by the link of a meeting and rooms that the server fills ask nobody.',
    readBy: { say: 'Every add to a room.', modules: ['src/settings/asking-settings.ts'] },
    effect: 'At once, for whoever is added next. Who was asked stays asked, and who takes part stays.',
    isClosedToVendors: true,
    fields: {
      unasked_up_to: {
        schema: z.int().min(1).max(PARTICIPANTS_MAX),
        say: 'Participants up to which people of the organisation are added at once; an add that would make the room larger asks all whom it names. 1 asks everybody, 20000 nobody; what the configuration says (256) without it.',
      },
      guests: {
        schema: z.enum(['asked', 'unasked']),
        say: 'Whether guests are asked whatever the size; what the configuration says (asked) without it.',
      },
    },
  },
  ...GRANTING_SETTINGS,
  quotas: {
    say: 'How much one person, and the whole installation, may use. What each one counts is in docs/protocol.md.',
    readBy: {
      say: 'Whatever people store, on every door.',
      modules: ['src/settings/quota-settings.ts', 'src/protocol/quotas.ts'],
    },
    effect: 'At once. What is used already stays, also beyond a smaller quota.',
    isClosedToVendors: true,
    fields: quotaFields(),
  },
} as const satisfies Readonly<Record<string, SettingScreen>>;

export type SettingScreenName = keyof typeof SETTING_SCREENS;
export const SETTING_SCREEN_NAMES = Object.keys(SETTING_SCREENS) as SettingScreenName[];

type Fields<Name extends SettingScreenName> = (typeof SETTING_SCREENS)[Name]['fields'];
type ValueOf<Field> = Field extends { schema: infer Schema extends z.ZodType } ? z.infer<Schema> : never;
type Required<Name extends SettingScreenName> = {
  [Field in keyof Fields<Name>]: Fields<Name>[Field] extends { isRequired: true } ? Field : never;
}[keyof Fields<Name>];

/** A screen whole, secrets included: what a service that uses it reads. */
export type SettingValues<Name extends SettingScreenName> = {
  readonly [Field in Required<Name>]: ValueOf<Fields<Name>[Field]>;
} & { readonly [Field in Exclude<keyof Fields<Name>, Required<Name>>]?: ValueOf<Fields<Name>[Field]> };

/** What reads a screen, for whoever looks at it. */
export function readerOf(name: SettingScreenName): string {
  return SETTING_SCREENS[name].readBy.say;
}

/** The fields of a screen, for what treats all screens alike. */
export function fieldsOf(name: SettingScreenName): [field: string, form: SettingField][] {
  return Object.entries<SettingField>(SETTING_SCREENS[name].fields);
}

/** The form of a change: what is left out stays, null takes a value away. */
export function changeForm(name: SettingScreenName): z.ZodType<Readonly<Record<string, unknown>>> {
  return z.strictObject(
    Object.fromEntries(fieldsOf(name).map(([field, { schema }]) => [field, schema.nullable().optional()])),
  );
}
