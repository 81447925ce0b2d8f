/**
 * Whose browser this is, for the service worker, which does not reach what the page keeps: by it a push that carries ids is made words.
 * It is no credential: what renews the session is in a cookie, which the browser sends along. It goes with the sign-out.
 */
import type { Language } from '#src/protocol/languages.ts';

export interface KeptAccount {
  readonly user: string;
  readonly deviceId: string;
  readonly messagingUrl: string;
  readonly language: Language;
}

const STORE = 'parley.account';
/** Entries of this storage are named by addresses; nothing is ever asked of this one. */
const PLACE = './kept-account';

/** A browser that keeps nothing, as in a private window, tells of pushes without words. */
export async function keepAccount(account: KeptAccount): Promise<void> {
  const store = await caches.open(STORE);
  await store.put(PLACE, Response.json(account));
}

export async function keptAccount(): Promise<KeptAccount | undefined> {
  const kept = await (await caches.open(STORE)).match(PLACE);
  return kept === undefined ? undefined : ((await kept.json()) as KeptAccount);
}

export async function forgetAccount(): Promise<void> {
  await caches.delete(STORE);
}
