/**
 * What this browser keeps of a person between two visits: who it is, which device this is, drafts and messages that wait. What renews
 * the session is in a cookie, which no script reads; docs/security.md says what that means.
 */
import { browserStore, clearBrowserStore } from '#src/client/browser-store.ts';
import type { ClientTabs } from '#src/client/client-tabs.ts';
import type { ConversationStore } from '#src/client/conversations/kept-conversations.ts';
import type { OutboxEntry, OutboxStore } from '#src/client/conversations/outbox.ts';
import { isRecord } from '#src/client/conversations/records.ts';
import { cookieSession } from '#src/client/connection/session.ts';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { APPEARANCE_KEY } from '../kit/appearance.ts';
import { keep, readKept } from '../kit/kept-values.ts';
import { LANGUAGE_KEY } from '../kit/language.ts';
import { leaveWorker } from './worker-account.ts';

/** Its value changes when somebody signs in or out: the other tabs are told by the browser. */
export const SESSION_KEY = 'parley.session';
const DEVICES = 'parley.devices';
const OUTBOX = 'parley.outbox';

/**
 * The session to go on with, without a token. A refresh token that lies here from before there was the cookie comes along: it moves
 * there with the first renewal, after which `keepSession` leaves none.
 */
export function keptSession(): Session | undefined {
  const kept = readKept(SESSION_KEY);
  if (!isRecord(kept)) return undefined;
  const { device_id: deviceId, refresh_token: refreshToken, user } = kept;
  if (typeof user !== 'string' || typeof deviceId !== 'string') return undefined;
  const session = cookieSession({ user, deviceId });
  return typeof refreshToken === 'string' ? { ...session, refresh_token: refreshToken } : session;
}

/** What another person left, who never signed out here, goes first: drafts and refused messages are under no name. */
export function keepSession({ device_id, user }: Session): void {
  const before = keptSession();
  if (before !== undefined && before.user !== user) forgetSession();
  keep(SESSION_KEY, { user, device_id });
  // Also of who is not known any more: whoever cleared one storage left the others.
  forgetAnswers(user).catch(() => undefined);
  const { [user]: _, ...others } = devices();
  keep(DEVICES, { ...others, [user]: device_id });
}

/** Conversations of whoever is signed in here, for all tabs. */
const CONVERSATIONS = 'parley';

/** What this browser keeps of a person's conversations, so that they are there at once, and without a network. */
export function keptConversations({ device_id, user }: Session): ConversationStore {
  return browserStore({ name: CONVERSATIONS, owner: `${user} ${device_id}` });
}

/** How the stores of the browser's cache begin that keep answers of the server, each for the one whose name it ends with. */
export const KEPT_ANSWERS = 'parley.kept ';

/** What is kept of the browser, whoever is signed in. */
const OF_THE_BROWSER: readonly string[] = [DEVICES, LANGUAGE_KEY, APPEARANCE_KEY];

/** Nothing of the person stays but which device this is, which is no secret and keeps it one device. */
export function forgetSession(): void {
  leaveWorker();
  // Where the browser keeps nothing, there is nothing to forget.
  clearBrowserStore(CONVERSATIONS).catch(() => undefined);
  forgetAnswers().catch(() => undefined);
  for (const key of Object.keys(localStorage)) {
    if (key.startsWith('parley.') && !OF_THE_BROWSER.includes(key)) localStorage.removeItem(key);
  }
}

/** Forgets what is kept of answers to anybody, or to anybody else. */
async function forgetAnswers(but?: string): Promise<void> {
  const isTheirs = (name: string) => but === undefined || !name.endsWith(` ${but}`);
  const stores = (await caches.keys()).filter((name) => name.startsWith(KEPT_ANSWERS) && isTheirs(name));
  await Promise.all(stores.map(async (name) => await caches.delete(name)));
}

function devices(): Readonly<Record<string, string>> {
  const kept = readKept(DEVICES);
  return typeof kept === 'object' && kept !== null ? (kept as Record<string, string>) : {};
}

/** The device that this browser is to whoever signed in last; undefined where nobody did. */
export function lastDevice(): string | undefined {
  return Object.values(devices()).at(-1);
}

/** What this browser is called in the person's list of devices; with the id of an earlier sign-in, it stays one device. */
export function thisDevice(user: string): { name: string; platform: string; id?: string } {
  const id = devices()[user];
  return { name: browserName(), platform: 'web', ...(id === undefined ? {} : { id }) };
}

export function browserName(): string {
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

/**
 * Unsent messages over a reload, those of each tab under a key of its own. A tab that opens takes over what tabs left that are not
 * there any more; two that do so at once send the same messages under the same ids. A full storage is told of by the client, and
 * sending goes on.
 */
export function keptOutbox(tabs: Pick<ClientTabs, 'id' | 'present'> | undefined): OutboxStore {
  const own = tabs === undefined ? OUTBOX : `${OUTBOX}.${tabs.id}`;
  return {
    load: async () => {
      const present = await tabs?.present();
      const isLeft = (key: string) =>
        key === OUTBOX || (key.startsWith(`${OUTBOX}.`) && present?.has(key.slice(OUTBOX.length + 1)) !== true);
      const keys = Object.keys(localStorage).filter(isLeft);
      const left = keys.flatMap((key) => {
        const kept = readKept(key);
        return Array.isArray(kept) ? (kept as unknown[]) : [];
      });
      if (left.length > 0) localStorage.setItem(own, JSON.stringify(left));
      for (const key of keys) if (key !== own) localStorage.removeItem(key);
      return left;
    },
    save: (entries: readonly OutboxEntry[]) => {
      if (entries.length === 0) localStorage.removeItem(own);
      else localStorage.setItem(own, JSON.stringify(entries));
    },
  };
}
