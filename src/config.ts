/**
 * Every setting of the server: its environment variable, default, limits and reason. The table in the README is
 * generated from here, and a wrong or unknown setting stops the start with its name and what is allowed.
 */
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { ADDED_UNASKED_DEFAULT, PARTICIPANTS_MAX } from './protocol/limits.ts';
import { hasTurn, isIceUriList } from './protocol/calls/calls.ts';
import { PROTOCOL_MIN, PROTOCOL_VERSION } from './protocol/version.ts';

const cores = availableParallelism();
const port = z.coerce.number().int().min(0).max(65_535);
const whole = (least: number, most: number) => z.coerce.number().int().min(least).max(most);
const filePath = z
  .string()
  .min(1)
  .refine((text) => !text.includes('-----BEGIN'), 'must be the path of a file, not what it holds');
const origin = z.url({ protocol: /^https?$/ }).transform((url) => url.replace(/\/+$/, ''));

const proxy = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);
const isProxyList = (text: string) =>
  text === '' || text.split(',').every((part) => proxy.safeParse(part.trim()).success);

// A certificate is held against a name; of an address the library would hold it against `localhost`.
const NATS_URL = /^(?:nats:\/\/|tls:\/\/(?!\[|[\d.]+(?::|$)))[^\s,@]+$/;
const isNatsList = (text: string) => text === '' || text.split(',').every((part) => NATS_URL.test(part.trim()));

/** A name that an authority can look up: two labels at least, and no wildcard, which HTTP-01 cannot prove. */
const PUBLIC_NAME = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])$/;
const ACME_NAMES_MAX = 20;
const isNameList = (text: string) => {
  const names = text.split(',').map((name) => name.trim());
  return text === '' || (names.length <= ACME_NAMES_MAX && names.every((name) => PUBLIC_NAME.test(name)));
};

/** Service → token. A text is JSON, as in a variable or a file; the configuration file may hold the object itself. */
const serviceTokens = z
  .preprocess(
    (value) => (typeof value === 'string' ? readJson(value) : value),
    z.record(
      z.string().regex(/^[a-z][a-z0-9-]{0,31}$/),
      z.string().regex(/^[\w.~+/=-]{32,256}$/, 'a token has 32 to 256 characters without spaces'),
      'must be a JSON object of names and tokens',
    ),
  )
  .refine(
    (tokens) => new Set(Object.values(tokens)).size === Object.keys(tokens).length,
    'must differ from each other',
  );

const isTypeList = (text: string) =>
  text === '' || text.split(',').every((part) => /^[a-z]+\/(?:[\w.+-]+|\*)$/.test(part.trim()));

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a text is host names and addresses separated by commas, and no word that somebody meant as a switch. */
function isHostList(text: string): boolean {
  const hosts = text.split(',').map((part) => part.trim());
  return hosts.every((host) => /^[\w.:-]+$/.test(host) && !/^(?:true|false|yes|no|on|off|\d+)$/i.test(host));
}

interface Setting {
  readonly schema: z.ZodType;
  readonly default: unknown;
  /** True for a value that no message may repeat: a secret, or what somebody may take one for. */
  readonly isSecret?: true;
  /** What it does and why the default is what it is, for the configuration table. */
  readonly say: string;
}

export const SETTINGS = {
  data: {
    schema: z.string().min(1),
    default: './data',
    say: 'Folder of everything that is stored. Made at the first start, readable by its owner only.',
  },
  logArchive: {
    schema: filePath,
    default: undefined,
    say: 'Folder to which everything that is committed is copied within a second, so that a backup can be restored to any instant behind it. You make it, on another disk; off without it. What it holds is as private as the data.',
  },
  cluster: {
    schema: z
      .string()
      .refine(
        isNatsList,
        'must be URLs of NATS servers, separated by commas: nats://, or tls:// with a name that stands in their certificates',
      ),
    default: '',
    say: 'NATS servers with JetStream, as nats:// or tls:// URLs separated by commas: with them this host is one of several that serve one installation, and any of them may be lost. Three servers keep what is acknowledged. Without it this host is alone.',
  },
  clusterName: {
    schema: z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be 1 to 32 of a-z, 0-9 and -'),
    default: 'parley',
    say: 'Name of the installation on these NATS servers: the same on all its hosts, and of no other installation.',
  },
  clusterCredentialsFile: {
    schema: filePath,
    default: undefined,
    isSecret: true,
    say: 'File of what this host shows the NATS servers: credentials as `nsc` writes them, `user:password`, or a token. Whoever has it owns the installation.',
  },
  clusterCaFile: {
    schema: filePath,
    default: undefined,
    say: 'File of certificates, in PEM, that vouch for those of the NATS servers; with it, or a tls:// URL, nothing is said to a server without TLS. Without it those that Node knows do.',
  },
  clusterStreamBytes: {
    schema: whole(1_048_576, 1024 ** 4),
    default: 256 * 1024 ** 2,
    say: 'Bytes of changes that NATS may keep in any case: 256 MiB. Beyond them, and beyond an eighth of the data, the host that leads copies files into NATS, which forgets what is in them. A host that was away for longer takes the copies.',
  },
  hostId: {
    schema: z.string().regex(/^[a-zA-Z0-9][a-zA-Z0-9-]{0,63}$/, 'must be 1 to 64 letters, digits and -'),
    default: undefined,
    say: 'What this host is called among those of the cluster. Made once and kept in the data folder without it.',
  },
  host: {
    schema: z.string().min(1),
    default: '127.0.0.1',
    say: 'Address the three listeners bind. Loopback, so that exposing the server is a decision.',
  },
  coordinatorPort: {
    schema: port,
    default: 8080,
    say: 'Port of the coordinator: sign-in, directory, console. 0 takes a free one.',
  },
  messagingPort: {
    schema: port,
    default: 8081,
    say: 'Port of the messaging service: HTTP and WebSocket. 0 takes a free one.',
  },
  calendarPort: { schema: port, default: 8082, say: 'Port of the calendar service. 0 takes a free one.' },
  lmtpPort: {
    schema: port,
    default: undefined,
    say: 'Port of the LMTP door for calendar mail, on the address of the listeners; closed without it. Whoever may connect is believed what the mail says of its sender, so it belongs on loopback or behind a firewall. 0 takes a free one.',
  },
  tlsCertificateFile: {
    schema: filePath,
    default: undefined,
    say: 'File of the certificate in PEM, its chain behind it: with it the three listeners speak TLS, 1.2 at least, and nothing else. Read again when it changes, without a restart.',
  },
  tlsKeyFile: {
    schema: filePath,
    default: undefined,
    isSecret: true,
    say: 'File of the key of that certificate, in PEM. Not readable by everybody.',
  },
  tlsPassphraseFile: {
    schema: filePath,
    default: undefined,
    isSecret: true,
    say: 'File of the passphrase of that key, where it has one.',
  },
  acmeNames: {
    schema: z
      .string()
      .refine(isNameList, 'must be public names such as chat.example.org, separated by commas, at most 20'),
    default: '',
    say: 'Public names of this server, separated by commas: with them it has a certificate of its own from an ACME authority, and renews it. Setting them agrees to the terms of that authority. TLS files of one’s own do not go with it.',
  },
  acmeDirectoryUrl: {
    schema: z.url({ protocol: /^https$/ }),
    default: 'https://acme-v02.api.letsencrypt.org/directory',
    say: 'Directory of the ACME authority: Let’s Encrypt.',
  },
  acmeHttpPort: {
    schema: whole(1, 65_535),
    default: 80,
    say: 'Port on the address of the listeners where challenges of the authority (HTTP-01) are answered while a certificate is ordered. The authority asks port 80 of each name, so that has to lead here.',
  },
  coordinatorUrl: {
    schema: origin,
    default: undefined,
    say: 'Public base URL of the coordinator, where a proxy stands in front. Used in links.',
  },
  messagingUrl: { schema: origin, default: undefined, say: 'Public base URL of the messaging service.' },
  calendarUrl: { schema: origin, default: undefined, say: 'Public base URL of the calendar service.' },
  allowedOrigins: {
    schema: z.string(),
    default: '',
    say: 'Origins, separated by commas, whose pages may call the services from a browser; the coordinator’s own always may.',
  },
  trustedProxies: {
    schema: z.string().refine(isProxyList, 'must be addresses or networks, separated by commas'),
    default: '',
    say: 'Addresses or networks of proxies, separated by commas, whose X-Forwarded-For the coordinator and the messaging service believe. Without it everybody behind a proxy has the proxy’s address, in limits and in the audit trail.',
  },
  shards: {
    schema: whole(1, 64),
    default: Math.min(Math.max(cores, 2), 64),
    say: 'Threads that hold sockets and actors: one per core, two at least. May change from start to start, up to the number of lanes.',
  },
  lanes: {
    schema: whole(1, 64),
    default: Math.min(Math.max(cores, 4), 64),
    say: 'Storage lanes, fixed when the data folder is made. More lanes let more shards write, but each commits alone: on one disk 1 lane took 44,000, 4 took 28,000 and 8 took 20,000 durable posts a second.',
  },
  laneSize: {
    schema: whole(1, 1024),
    default: 64,
    say: 'Address space reserved per lane, in GiB. Not disk: the file grows with what is stored.',
  },
  youngGeneration: {
    schema: whole(1, 16),
    default: 8,
    say: 'Memory in MiB that each shard fills with what is new before it looks what of it is still needed. The engine begins with 1 and seldom takes more by itself. A shard’s memory may grow by twice as much; with 8, a post under load took 13 % less CPU than with 1.',
  },
  sessionSeconds: {
    schema: whole(5, 86_400),
    default: 900,
    say: 'Life of a session token. Short, because a stolen one works that long.',
  },
  renewSeconds: {
    schema: whole(60, 31_536_000),
    default: 2_592_000,
    say: 'How long after sign-in a session may be renewed: 30 days.',
  },
  protocolMin: {
    schema: whole(0, PROTOCOL_VERSION),
    default: PROTOCOL_MIN,
    say: 'Oldest client protocol served. Raise it after the population in /healthz says nobody is left below.',
  },
  socketBufferBytes: {
    schema: whole(4_096, 64 * 1024 * 1024),
    default: 1024 * 1024,
    say: 'What may wait unsent for one socket before it is closed as too slow (4002).',
  },
  socketIdleSeconds: {
    schema: whole(8, 960),
    default: 50,
    say: 'A peer silent for this long is dead. Pings go out in time to prevent it, so half-open sockets are gone within a minute.',
  },
  search: {
    schema: z.enum(['on', 'off']),
    default: 'on',
    say: 'Whether messages are indexed and can be searched. Switched off, nothing new is indexed; switched on again, what is missing is indexed in the background.',
  },
  linkPreviews: {
    schema: z.enum(['on', 'off']),
    default: 'off',
    say: 'Whether the server reads the page behind the first link of a text and shows its title and description with the message; never in secret conversations. Off, because the owners of those pages then see that somebody here wrote of them. With private targets allowed, everybody who writes sees the titles of pages inside the network.',
  },
  rateLimits: {
    schema: z.coerce.number().min(0).max(1_000),
    default: 1,
    say: 'Times that people may do what the table of rate limits in docs/protocol.md allows. 0 switches these limits off, for load tests.',
  },
  addUnasked: {
    schema: whole(1, PARTICIPANTS_MAX),
    default: ADDED_UNASKED_DEFAULT,
    say: 'Participants up to which people are added to a room at once, unless the console says otherwise; an add that would make it larger asks all whom it names.',
  },
  addGuests: {
    schema: z.enum(['asked', 'unasked']),
    default: 'asked',
    say: 'Whether guests who are added to a room are asked first, whatever its size, unless the console says otherwise.',
  },
  requestSeconds: {
    schema: whole(1, 120),
    default: 10,
    say: 'Deadline of one request inside the server; beyond it the answer is 503.',
  },
  drainSeconds: {
    schema: whole(0, 60),
    default: 5,
    say: 'How long a stopping server lets requests finish before it ends them. The whole stop takes less than twice this.',
  },
  ringSeconds: {
    schema: whole(1, 60),
    default: 45,
    say: 'How long a call rings, on the server’s clock, before it is missed; also how long a transfer waits for its target.',
  },
  callLostSeconds: {
    schema: whole(1, 600),
    default: 30,
    say: 'A device in a call that has no connection for this long has left it. Longer than a change of network takes.',
  },
  turnUris: {
    schema: z
      .string()
      .refine((text) => text === '' || isIceUriList(text), 'must be stun:, turn: or turns: URIs, separated by commas'),
    default: '',
    say: 'STUN and TURN servers for calls, as stun:, turn: or turns: URIs separated by commas. Without them calls connect inside one network only. The console’s screen counts instead of them where it is filled in.',
  },
  turnSecret: {
    schema: z.string().min(16),
    default: undefined,
    isSecret: true,
    say: 'Secret shared with the TURN servers (static-auth-secret of coturn). Better given as PARLEY_TURN_SECRET_FILE.',
  },
  loginAttemptsPerMinute: {
    schema: whole(1, 1_000_000),
    default: 10,
    say: 'Failed sign-ins per minute for one username from one address, then 429. Nobody else is locked out by them.',
  },
  consoleIdleSeconds: {
    schema: whole(60, 86_400),
    default: 1_800,
    say: 'How long a console session may lie idle: 30 minutes, because an unattended console opens everything.',
  },
  consoleSessionSeconds: {
    schema: whole(60, 604_800),
    default: 43_200,
    say: 'Life of a console session however busy it is: 12 hours, a long working day.',
  },
  recoveriesPerMinute: {
    schema: whole(1, 1_000_000),
    default: 10,
    say: 'Requests for recovery codes, and attempts to use one, per minute from one address, then 429; the same for every number.',
  },
  recoveryWebhook: {
    schema: z.url({ protocol: /^https?$/ }),
    default: undefined,
    say: 'URL that is posted {phone, code, expires_at} to deliver a recovery code to a guest. Without it, administrators read codes in the console.',
  },
  passwordMemoryKib: {
    schema: whole(64, 1_048_576),
    default: 19_456,
    say: 'Memory of one argon2id hash, in KiB: the OWASP recommendation of 2023 with two passes.',
  },
  attachmentBytesMax: {
    schema: whole(1, 1024 ** 4),
    default: 2 * 1024 ** 3,
    say: 'Largest attachment in bytes: 2 GiB. A larger one is refused before its first byte is sent.',
  },
  attachmentQuotaBytes: {
    schema: whole(1, 1024 ** 5),
    default: 10 * 1024 ** 3,
    say: 'Bytes one person may upload in 30 days, unless the quotas in the console say otherwise: 10 GiB, five of the largest attachments.',
  },
  attachmentTypes: {
    schema: z.string().refine(isTypeList, 'must be media types such as image/png or image/*, separated by commas'),
    default: '',
    say: 'Media types that may be attached, separated by commas, image/* for all images; without it every type. Judged by the first bytes of a file, not by its name.',
  },
  clamdAddress: {
    schema: z
      .string()
      .regex(/^(?:unix:\/.+|[^\s:]+:\d{1,5}|\[[0-9a-f:]+\]:\d{1,5})$/i, 'must be host:port or unix:/path'),
    default: undefined,
    say: 'Address of clamd, host:port or unix:/path, that looks through every upload. Without it nothing is scanned; with it, an upload is refused while it cannot be reached.',
  },
  allowPrivateTargets: {
    schema: z.union([
      z.boolean(),
      z.enum(['true', 'false']).transform((text) => text === 'true'),
      z.string().refine(isHostList, 'must be true, false, or hosts separated by commas'),
    ]),
    default: false,
    say: 'Whether webhooks of automations, event subscriptions of bots, pushes, previews of links, feeds that calendars follow, outgoing mail, the identity provider, and tests of settings may go to private addresses: true, false, or the hosts that may, as they are written where they are set, separated by commas (`mail.internal,10.0.0.5`). False, because an administrator of the console would otherwise reach the services beside this server.',
  },
  pushRedecideSeconds: {
    schema: whole(1, 60),
    default: 30,
    say: 'How long after the last awake app of a person was lost, or after a restart, it is decided again which messages are due as pushes. Long enough to reconnect, and a minute at most.',
  },
  pushText: {
    schema: z.union([z.boolean(), z.enum(['true', 'false']).transform((text) => text === 'true')]),
    default: false,
    say: 'Whether pushes show who wrote and what. False: they carry ids, apps ask this server for the rest, and Apple and Google read nothing.',
  },
  pushContact: {
    schema: z.string().regex(/^(?:mailto:[^\s@]+@[^\s@]+|https:\/\/[^\s]+)$/, 'must be a mailto: or https: URL'),
    default: undefined,
    say: 'Whom a push service may write to about this installation, as a mailto: or https: URL. Some services refuse pushes without one; the public URL of the coordinator stands in.',
  },
  apnsUrl: {
    schema: z.url({ protocol: /^https$/ }).transform((url) => url.replace(/\/+$/, '')),
    default: undefined,
    say: 'Gateway of APNs, where pushes leave through a relay; Apple’s own without it.',
  },
  fcmUrl: {
    schema: z.url({ protocol: /^https$/ }).transform((url) => url.replace(/\/+$/, '')),
    default: undefined,
    say: 'Gateway of Firebase Cloud Messaging, where pushes leave through a relay; Google’s own without it.',
  },
  masterKey: {
    schema: z.string().regex(/^[0-9a-f]{64}$/i, 'must be 64 hex digits'),
    default: undefined,
    isSecret: true,
    say: 'Master key of encryption at rest, 64 hex digits. Better given as PARLEY_MASTER_KEY_FILE. Turns encryption on at the first start with it; without it a server that has it on starts locked.',
  },
  serviceTokens: {
    schema: serviceTokens,
    default: undefined,
    isSecret: true,
    say: 'Tokens by which services of the installation ask the coordinator: a JSON object, service name to token of 32 to 256 characters. Better given as PARLEY_SERVICE_TOKENS_FILE. Another token takes a restart.',
  },
  logLevel: {
    schema: z.enum(['silent', 'error', 'warn', 'info', 'debug']),
    default: 'info',
    say: 'How much is logged. Logs are JSON lines on standard output and never hold secrets.',
  },
} as const satisfies Record<string, Setting>;

type Settings = typeof SETTINGS;
type Read<K extends keyof Settings> =
  | z.infer<Settings[K]['schema']>
  | (undefined extends Settings[K]['default'] ? undefined : never);
export type Config = { readonly [K in keyof Settings]: Read<K> };

/** A setting that stops the start: names it and says what is allowed. */
export class ConfigError extends Error {}

/** The environment variable of a setting: `messagingPort` is PARLEY_MESSAGING_PORT. */
export function variableOf(name: string): string {
  return `PARLEY_${name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
}

/** Variables with our prefix that are not settings of the server. */
const OTHER_VARIABLES = new Set(['PARLEY_CONFIG', 'PARLEY_DEBUG_HOOKS']);

/**
 * The configuration from the environment and, below it, the JSON file that PARLEY_CONFIG names. Any variable may be
 * given as `…_FILE`, the path of a file that holds the value.
 * @throws ConfigError for an unknown name or a value that is not allowed.
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const byVariable = new Map(Object.keys(SETTINGS).map((name) => [variableOf(name), name as keyof Settings]));
  const given = new Map<keyof Settings, { value: unknown; source: string }>();
  for (const [name, value] of Object.entries(readFile(environment['PARLEY_CONFIG']))) {
    if (!Object.hasOwn(SETTINGS, name)) throw unknownSetting(name, Object.keys(SETTINGS));
    given.set(name as keyof Settings, { value, source: name });
  }
  for (const [variable, value] of Object.entries(environment)) {
    if (!variable.startsWith('PARLEY_') || OTHER_VARIABLES.has(variable) || value === undefined) continue;
    // Some settings are files by themselves, and keep their ending.
    const isFileOfValue = variable.endsWith('_FILE') && !byVariable.has(variable);
    const base = isFileOfValue ? variable.slice(0, -'_FILE'.length) : variable;
    const name = byVariable.get(base);
    if (name === undefined) throw unknownSetting(variable, [...byVariable.keys()]);
    given.set(name, { value: base === variable ? value : readFileSync(value, 'utf8').trim(), source: variable });
  }
  const entries = Object.entries(SETTINGS).map(([name, setting]: [string, Setting]) => {
    const found = given.get(name as keyof Settings);
    if (found === undefined) return [name, setting.default];
    const parsed = setting.schema.safeParse(found.value);
    if (parsed.success) return [name, parsed.data];
    const why = parsed.error.issues.map((issue) => issue.message).join('; ');
    const value = setting.isSecret === true ? 'not valid' : JSON.stringify(found.value);
    throw new ConfigError(`${found.source} is ${value}: ${why}. ${setting.say}`);
  });
  const config = Object.fromEntries(entries) as Config;
  checkTogether(config, given);
  return config;
}

/** @throws ConfigError for settings that do not go together. */
function checkTogether(config: Config, given: ReadonlyMap<keyof Settings, unknown>): void {
  if (config.shards > 1 && given.has('shards') && given.has('lanes') && config.shards > config.lanes) {
    throw new ConfigError(`${variableOf('shards')} is ${config.shards}: no more shards than lanes (${config.lanes}).`);
  }
  if (config.turnSecret === undefined && hasTurn(config.turnUris)) {
    throw new ConfigError(`${variableOf('turnUris')} names a TURN server, and ${variableOf('turnSecret')} is missing.`);
  }
  const { tlsCertificateFile: certificate, tlsKeyFile: key, tlsPassphraseFile: passphrase } = config;
  const [named, missing] =
    certificate === undefined
      ? (['tlsKeyFile', 'tlsCertificateFile'] as const)
      : (['tlsCertificateFile', 'tlsKeyFile'] as const);
  if ((certificate === undefined) !== (key === undefined)) {
    throw new ConfigError(`${variableOf(named)} is set, and ${variableOf(missing)} is missing: TLS takes both.`);
  }
  if (config.acmeNames !== '' && certificate !== undefined) {
    const names = `${variableOf('acmeNames')} and ${variableOf('tlsCertificateFile')}`;
    throw new ConfigError(`${names} are both set: the certificate is either ordered or yours.`);
  }
  if (config.acmeNames !== '' && config.cluster !== '') {
    const names = `${variableOf('acmeNames')} and ${variableOf('cluster')}`;
    throw new ConfigError(`${names} are both set: the hosts of a cluster show one certificate, which you put on each.`);
  }
  if (passphrase !== undefined && key === undefined) {
    throw new ConfigError(`${variableOf('tlsPassphraseFile')} is set, and ${variableOf('tlsKeyFile')} is missing.`);
  }
}

export type TlsConfig = Pick<Config, 'acmeNames' | 'tlsCertificateFile'>;

/** Whether the listeners speak TLS. */
export function speaksTls({ acmeNames, tlsCertificateFile }: TlsConfig): boolean {
  return acmeNames !== '' || tlsCertificateFile !== undefined;
}

function readFile(path: string | undefined): object {
  if (path === undefined) return {};
  if (!existsSync(path)) throw new ConfigError(`PARLEY_CONFIG names ${path}, which does not exist.`);
  try {
    return z.record(z.string(), z.unknown()).parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    throw new ConfigError(`PARLEY_CONFIG names ${path}, which is not a JSON object.`);
  }
}

function unknownSetting(name: string, allowed: string[]): ConfigError {
  return new ConfigError(`${name} is not a setting. Settings: ${allowed.toSorted().join(', ')}.`);
}
