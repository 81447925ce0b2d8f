/**
 * What this browser keeps of a person between two visits: the session, which device this is, and messages that wait. It is the
 * browser's own storage for this origin; docs/security.md says what that means.
 */
import type { OutboxEntry, OutboxStore } from '#src/client/conversations/outbox.ts';
import { readSession } from '#src/client/connection/session.ts';
import type { Session } from '#src/protocol/sessions/sessions.ts';

const SESSION = 'parley.session';
const DEVICES = 'parley.devices';
const OUTBOX = 'parley.outbox';

/** JSON as it was kept; undefined for nothing, or for what is none. */
export function readKept(key: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(key) ?? 'null') ?? undefined;
  } catch {
    return undefined;
  }
}

/** Keeps a value; a storage that is full or closed keeps nothing, and the visit goes on without. Answers whether it did. */
export function keep(key: string, value: unknown): boolean {
  try {
    localStorage.setItem(key, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

export function keptSession(): Session | undefined {
  try {
    return readSession(readKept(SESSION));
  } catch {
    return undefined;
  }
}

/** What another person left, who never signed out here, goes first: drafts and refused messages are under no name. */
export function keepSession(session: Session): void {
  const before = keptSession();
  if (before !== undefined && before.user !== session.user) forgetSession();
  keep(SESSION, session);
  keep(DEVICES, { ...devices(), [session.user]: session.device_id });
}

/** Nothing of the person stays but which device this is, which is no secret and keeps it one device. */
export function forgetSession(): void {
  for (const key of Object.keys(localStorage)) {
    if (key.startsWith('parley.') && key !== DEVICES && key !== 'parley.language') localStorage.removeItem(key);
  }
}

function devices(): Readonly<Record<string, string>> {
  const kept = readKept(DEVICES);
  return typeof kept === 'object' && kept !== null ? (kept as Record<string, string>) : {};
}

/** What this browser is called in the person's list of devices; with the id of an earlier sign-in, it stays one device. */
export function thisDevice(user: string): { name: string; platform: string; id?: string } {
  const id = devices()[user];
  return { name: browserName(), platform: 'web', ...(id === undefined ? {} : { id }) };
}

function browserName(): string {
  const agent = navigator.userAgent;
  const browsers = { Edg: 'Edge', OPR: 'Opera', Firefox: 'Firefox', Chrome: 'Chrome', Safari: 'Safari' };
  const systems = {
    Android: 'Android',
    iPhone: 'iPhone',
    iPad: 'iPad',
    Windows: 'Windows',
    Mac: 'macOS',
    Linux: 'Linux',
  };
  const nameIn = (names: Readonly<Record<string, string>>) =>
    Object.entries(names).find(([sign]) => agent.includes(sign))?.[1];
  return [nameIn(browsers) ?? 'Browser', nameIn(systems)].filter((name) => name !== undefined).join(', ');
}

/** Unsent messages over a reload. A full storage is told of by the client, and sending goes on. */
export const KEPT_OUTBOX: OutboxStore = {
  load: () => readKept(OUTBOX),
  save: (entries: readonly OutboxEntry[]) => {
    localStorage.setItem(OUTBOX, JSON.stringify(entries));
  },
};
