/** Connections to NATS: one of a thread, shared by all that write or follow there. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { jetstream, jetstreamManager, type JetStreamClient, type JetStreamManager } from '@nats-io/jetstream';
import {
  AuthorizationError,
  connect,
  credsAuthenticator,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
  type Authenticator,
  type ConnectionOptions,
  type NatsConnection,
} from '@nats-io/transport-node';
import { FolderError } from '../log/folder-error.ts';
import type { StreamPlace } from './stream-place.ts';

/** How long NATS may take for an answer; a new leader of a stream is there within two seconds. */
export const ANSWER_MILLIS = 3_000;
/** From one try to reach a server to the next. */
const RECONNECT_MILLIS = 250;
/** How often a silent server is asked whether it is there, and how often in vain before the connection counts as lost. */
const PING_MILLIS = 1_000;
const PINGS_MAX = 2;

/** Codes of Node for a certificate that does not hold. */
const CERTIFICATE_FAULT = /^(?:CERT_|DEPTH_ZERO_|ERR_TLS_CERT_|SELF_SIGNED_|UNABLE_TO_)/;

export interface StreamConnection {
  readonly nats: NatsConnection;
  readonly stream: JetStreamClient;
  readonly manager: JetStreamManager;
}

/** What it takes to reach the NATS servers. */
export type Reach = Pick<StreamPlace, 'authoritiesFile' | 'credentialsFile' | 'urls'>;

/** Connects; tries until a server is there. @throws FolderError for files that cannot be read. */
export async function connectToStream(reach: Reach): Promise<StreamConnection> {
  const nats = await connect({
    ...optionsOf(reach),
    maxReconnectAttempts: -1,
    waitOnFirstConnect: true,
    reconnectTimeWait: RECONNECT_MILLIS,
    // Credentials that were right may be so again, when those of the servers are put back.
    ignoreAuthErrorAbort: true,
    pingInterval: PING_MILLIS,
    maxPingOut: PINGS_MAX,
  });
  const stream = jetstream(nats, { timeout: ANSWER_MILLIS });
  return { nats, stream, manager: await jetstreamManager(nats, { timeout: ANSWER_MILLIS, checkAPI: false }) };
}

/**
 * Resolves once one of the servers takes a connection. The library tries on in silence whatever a server says; whoever starts a host
 * reads why it cannot come in.
 * @throws FolderError where none does and one says why not: no TLS, a certificate that nobody vouches for, credentials.
 */
export async function untilReached(reach: Reach): Promise<void> {
  const options = optionsOf(reach);
  for (;;) {
    let refusal: string | undefined;
    for (const url of reach.urls) {
      try {
        const nats = await connect({ ...options, servers: url, reconnect: false });
        await nats.close();
        return;
      } catch (error) {
        refusal ??= refusalOf(error as Error, url);
      }
    }
    if (refusal !== undefined) throw new FolderError(refusal);
    await sleep(RECONNECT_MILLIS);
  }
}

function optionsOf({ authoritiesFile, credentialsFile, urls }: Reach): ConnectionOptions {
  const authenticator = credentialsFile === undefined ? {} : { authenticator: readCredentials(credentialsFile) };
  // The library passes over the scheme of a URL, and says who it is in the clear to a server that has no TLS.
  const isEncrypted = authoritiesFile !== undefined || urls.some((url) => url.startsWith('tls:'));
  return {
    servers: [...urls],
    ...authenticator,
    ...(isEncrypted ? { tls: authoritiesFile === undefined ? {} : { ca: readAuthorities(authoritiesFile) } } : {}),
    // Credentials are for the servers that the settings name, and not for those that a server names.
    ignoreClusterUpdates: true,
    timeout: ANSWER_MILLIS,
    name: 'parley',
  };
}

/** Why a server will not take this host, in words; undefined where it may yet. */
function refusalOf(error: Error, url: string): string | undefined {
  const errors = [error, error.cause].filter((one) => one instanceof Error);
  if (errors.some((one) => one instanceof AuthorizationError))
    return `The NATS server at ${url} does not take what PARLEY_CLUSTER_CREDENTIALS_FILE says.`;
  if (errors.some(({ message }) => message.includes("does not support 'tls'")))
    return `The NATS server at ${url} speaks no TLS: set nats:// in PARLEY_CLUSTER, or have it speak TLS.`;
  const verifying = errors.find((one) => CERTIFICATE_FAULT.test((one as NodeJS.ErrnoException).code ?? ''));
  if (verifying === undefined) return undefined;
  return `The certificate of the NATS server at ${url} is not to be relied on (${verifying.message}): PARLEY_CLUSTER_CA_FILE names those who vouch for it.`;
}

/** What a file says of who this is to NATS: credentials as `nsc` writes them, `user:password`, or a token. */
function readCredentials(path: string): Authenticator {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    throw new FolderError(`${path}, the credentials for NATS, cannot be read.`);
  }
  if (text.includes('-----BEGIN NATS USER JWT-----')) return credsAuthenticator(Buffer.from(text));
  const [user = '', ...password] = text.trim().split(':');
  return password.length === 0 ? tokenAuthenticator(user) : usernamePasswordAuthenticator(user, password.join(':'));
}

function readAuthorities(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw new FolderError(`${path}, the certificates for NATS, cannot be read.`);
  }
}

/** A connection that others of the thread have, too. */
export interface SharedConnection {
  readonly opened: Promise<StreamConnection>;
  readonly release: () => Promise<void>;
}

const shared = new Map<string, { users: number; readonly opened: Promise<StreamConnection> }>();

/** A connection that all of a thread share which write to one stream; closed with the last of them. */
export function shareConnection(place: StreamPlace): SharedConnection {
  let one = shared.get(place.cluster);
  if (one === undefined) {
    one = { users: 0, opened: connectToStream(place) };
    one.opened.catch(() => undefined);
    shared.set(place.cluster, one);
  }
  one.users += 1;
  const { opened } = one;
  return {
    opened,
    release: async () => {
      if (one.users === 0) return;
      one.users -= 1;
      if (one.users > 0) return;
      shared.delete(place.cluster);
      // Not waited for: NATS may be away, and the connection never have been there.
      opened.then(async ({ nats }) => await nats.close()).catch(() => undefined);
    },
  };
}
