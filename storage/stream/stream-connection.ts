/** Connections to NATS: one of a thread, shared by all that write or follow there. */
import { readFileSync } from 'node:fs';
import { jetstream, jetstreamManager, type JetStreamClient, type JetStreamManager } from '@nats-io/jetstream';
import {
  connect,
  credsAuthenticator,
  tokenAuthenticator,
  usernamePasswordAuthenticator,
  type Authenticator,
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

export interface StreamConnection {
  readonly nats: NatsConnection;
  readonly stream: JetStreamClient;
  readonly manager: JetStreamManager;
}

/** Connects; tries until a server is there. @throws FolderError for credentials that cannot be read. */
export async function connectToStream({
  credentialsFile,
  urls,
}: Pick<StreamPlace, 'credentialsFile' | 'urls'>): Promise<StreamConnection> {
  const authenticator = credentialsFile === undefined ? {} : { authenticator: readCredentials(credentialsFile) };
  const nats = await connect({
    servers: [...urls],
    ...authenticator,
    maxReconnectAttempts: -1,
    waitOnFirstConnect: true,
    reconnectTimeWait: RECONNECT_MILLIS,
    pingInterval: PING_MILLIS,
    maxPingOut: PINGS_MAX,
    timeout: ANSWER_MILLIS,
    name: 'parley',
  });
  const stream = jetstream(nats, { timeout: ANSWER_MILLIS });
  return { nats, stream, manager: await jetstreamManager(nats, { timeout: ANSWER_MILLIS, checkAPI: false }) };
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
