/**
 * Every setting of the server: its environment variable, default, limits and reason. The table in the README is
 * generated from here, and a wrong or unknown setting stops the start with its name and what is allowed.
 */
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { PROTOCOL_MIN, PROTOCOL_VERSION } from './protocol/version.ts';

const cores = availableParallelism();
const port = z.coerce.number().int().min(0).max(65_535);
const whole = (least: number, most: number) => z.coerce.number().int().min(least).max(most);
const origin = z.url({ protocol: /^https?$/ }).transform((url) => url.replace(/\/+$/, ''));

interface Setting {
  readonly schema: z.ZodType;
  readonly default: unknown;
  /** What it does and why the default is what it is, for the configuration table. */
  readonly say: string;
}

export const SETTINGS = {
  data: {
    schema: z.string().min(1),
    default: './data',
    say: 'Folder of everything that is stored. Made at the first start, readable by its owner only.',
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
  loginAttemptsPerMinute: {
    schema: whole(1, 1_000_000),
    default: 10,
    say: 'Failed sign-ins per minute for one username from one address, then 429. Nobody else is locked out by them.',
  },
  passwordMemoryKib: {
    schema: whole(64, 1_048_576),
    default: 19_456,
    say: 'Memory of one argon2id hash, in KiB: the OWASP recommendation of 2023 with two passes.',
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
    const base = variable.endsWith('_FILE') ? variable.slice(0, -'_FILE'.length) : variable;
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
    throw new ConfigError(`${found.source} is ${JSON.stringify(found.value)}: ${why}. ${setting.say}`);
  });
  const config = Object.fromEntries(entries) as Config;
  if (config.shards > 1 && given.has('shards') && given.has('lanes') && config.shards > config.lanes) {
    throw new ConfigError(`${variableOf('shards')} is ${config.shards}: no more shards than lanes (${config.lanes}).`);
  }
  return config;
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
