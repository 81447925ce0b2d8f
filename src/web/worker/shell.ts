/**
 * The app itself where there is no network: the page and the files that its first screens are made of. Files have a hash in their name
 * and are one content for ever; the page is asked of the server first, each time, and is the kept one only where that does not answer.
 */

/** The files that the build names for this, put in its place by the build. */
declare const SHELL_FILES: readonly string[];

/** One store for each build; those of others go when this one is in force. */
const STORE = `parley.shell ${SHELL_FILES.join(' ')}`;
const STORES = 'parley.shell ';
const PAGE = './';

/** Keeps the page and its files. @throws where one does not come; the browser tries again later. */
export async function keepShell(): Promise<void> {
  const store = await caches.open(STORE);
  const page = await fetch(PAGE, { headers: { accept: 'text/html' }, cache: 'no-store' });
  if (!page.ok) throw new Error(`The page was answered with ${page.status}.`);
  await Promise.all([store.put(PAGE, page), store.addAll(SHELL_FILES.map((name) => `./assets/${name}`))]);
}

export async function forgetOldShells(): Promise<void> {
  const names = await caches.keys();
  const old = names.filter((name) => name.startsWith(STORES) && name !== STORE);
  await Promise.all(old.map(async (name) => await caches.delete(name)));
}

/** What the worker answers in the place of the network; undefined for what is none of its affairs. */
export function answerOf(
  { method, mode, url }: Pick<Request, 'method' | 'mode' | 'url'>,
  scope: string,
): 'page' | 'file' | undefined {
  const { origin, pathname } = new URL(url);
  const base = new URL(scope);
  if (method !== 'GET' || origin !== base.origin || !pathname.startsWith(base.pathname)) return undefined;
  const path = pathname.slice(base.pathname.length);
  if (path === '' && mode === 'navigate') return 'page';
  return /^assets\/[\w.-]+$/.test(path) ? 'file' : undefined;
}

/** The page as the server has it now, or as it was kept. */
export async function pageOf(request: Request, preloaded: Promise<Response | undefined>): Promise<Response> {
  try {
    return (await preloaded) ?? (await fetch(request));
  } catch (error) {
    const kept = await (await caches.open(STORE)).match(PAGE, { ignoreVary: true });
    if (kept === undefined) throw error;
    return kept;
  }
}

/** A file of the build: kept once it was there. */
export async function fileOf(request: Request): Promise<Response> {
  const store = await caches.open(STORE);
  // A name with a hash has one content, whatever the answer says that it varies by.
  const kept = await store.match(request, { ignoreVary: true });
  if (kept !== undefined) return kept;
  const answer = await fetch(request);
  // A full storage keeps nothing more, and the answer is there all the same.
  if (answer.ok) await store.put(request, answer.clone()).catch(() => undefined);
  return answer;
}
