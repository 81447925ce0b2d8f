/**
 * The stores of a data folder: which LMDB files there are, and whose. A store that is missing, cut off or of another
 * installation is never taken for an empty one.
 *
 *     stores.json   the installation, and the stores that it has
 *     each store    a mark: the same installation, and the store's own name
 *
 * A store is marked when it is made, before anything is in it, and listed once it is marked: what is listed and not there
 * was taken away, and what is there and not listed was being made. The first list is empty, and written before the first
 * mark. The list stands beside the manifest and the mark beside the tables, where whoever does not look for them does not
 * see them.
 *
 * A folder from before has no list and no marks: with all its lanes and its accounts it is whole, and is marked as it is.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { Environment, MARK_KEY, TOOL_MAP_BYTES } from './environment.ts';
import { FolderError, folderPaths, lanePath, replaceJson, type Manifest } from './folder.ts';
import { PageFault } from './page-file.ts';
import { walkFile, type WalkDepth } from './page-walk.ts';

const listSchema = z.strictObject({
  /** Sixteen characters that no other installation and no restored folder has. */
  installation: z.string().min(1),
  /** Paths within the folder. */
  stores: z.array(z.string()),
});
type StoreList = z.infer<typeof listSchema>;

/** What is wrong with a store. */
export interface StoreFault {
  /** Its path within the folder. */
  readonly store: string;
  /** The lane's number; undefined of a store that is none. */
  readonly lane: number | undefined;
  /** `head`: already its presence, mark, length or first pages; `tree`: a page that these lead to. */
  readonly part: PageFault['part'];
  /** What is wrong, and what to do, for an operator. */
  readonly sentence: string;
}

/** The stores of a folder with that many lanes, by their paths within it: accounts first, then the lanes. */
export function storesOf(lanes: number): string[] {
  const { accounts, attachments, calendar } = folderPaths('');
  return [accounts, ...Array.from({ length: lanes }, (_, lane) => lanePath('', lane)), attachments, calendar];
}

/**
 * What is wrong with the stores of a folder whose lock the caller has: `tables` compares presence, marks, lengths, first
 * pages and free lists, `all` every page. Reads files and maps none, so that no damage ends the process. Blocks.
 * @throws FolderError for a list that cannot be read.
 */
export function findStoreFaults(folder: string, { lanes }: Pick<Manifest, 'lanes'>, depth: WalkDepth): StoreFault[] {
  const list = readList(folder);
  const stores = storesOf(lanes);
  const present = new Set(stores.filter((store) => isThere(folder, store)));
  const marks = new Map<string, string | undefined>();
  const faults: StoreFault[] = [];
  for (const store of present) {
    try {
      marks.set(store, walkFile(join(folder, store), depth).get(MARK_KEY)?.toString('utf8'));
    } catch (error) {
      if (!(error instanceof PageFault)) throw error;
      faults.push(faultOf(folder, store, error));
    }
  }
  const isMarked = [...marks.values()].some((mark) => mark !== undefined);
  for (const store of list?.stores ?? (isMarked ? stores : dueUnmarked(present, lanes))) {
    if (present.has(store)) continue;
    faults.push(faultOf(folder, store, new PageFault(existsSync(join(folder, store)) ? 'is empty' : 'is missing')));
  }
  const installation = list?.installation ?? installationOf([...marks.values()]);
  for (const [store, mark] of marks) {
    const what = wrongMark(store, mark, installation, list?.stores.includes(store) ?? false);
    if (what !== undefined) faults.push(faultOf(folder, store, new PageFault(what)));
  }
  return faults;
}

/**
 * Makes the stores that a folder without faults lacks, marks those that have no mark and lists all. With `anew` it becomes
 * an installation of its own, as a restored one has to. On disk when it resolves.
 */
export async function settleStores(
  folder: string,
  { lanes }: Pick<Manifest, 'lanes'>,
  { anew = false }: { readonly anew?: boolean } = {},
): Promise<void> {
  const list = readList(folder);
  const stores = storesOf(lanes);
  const present = stores.filter((store) => isThere(folder, store));
  const marks = new Map(
    present.map((store) => [store, walkFile(join(folder, store), 'tables').get(MARK_KEY)?.toString('utf8')]),
  );
  const known = anew ? undefined : (list?.installation ?? installationOf([...marks.values()]));
  const installation = known ?? randomBytes(12).toString('base64url');
  const isListed = list?.installation === installation && stores.every((store) => list.stores.includes(store));
  if (list?.installation !== installation) writeList(folder, { installation, stores: [] });
  for (const store of stores) {
    const mark = markOf(installation, store);
    if (marks.get(store) === mark) continue;
    const environment = new Environment(join(folder, store), [], { mapBytes: TOOL_MAP_BYTES });
    environment.mark(mark);
    await environment.close();
  }
  if (!isListed) writeList(folder, { installation, stores });
}

/** @throws FolderError when a store that the folder's list has is not there. */
export function assertStoresThere(folder: string): void {
  for (const store of readList(folder)?.stores ?? []) {
    if (!isThere(folder, store)) throw new FolderError(faultOf(folder, store, new PageFault('is missing')).sentence);
  }
}

/** The faults in one sentence: the first, and how many there are beside it. */
export function faultSentence([first, ...others]: readonly StoreFault[]): string {
  const more = others.length === 0 ? '' : ` ${others.length} more of its stores are at fault: parley check names them.`;
  return `${first?.sentence}${more}`;
}

/** The name of a folder's installation; undefined before its stores are settled. */
export function installationIn(folder: string): string | undefined {
  return readList(folder)?.installation;
}

function readList(folder: string): StoreList | undefined {
  const path = folderPaths(folder).stores;
  if (!existsSync(path)) return undefined;
  try {
    return listSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    throw new FolderError(`${path} cannot be read. Remove it if all stores are there: the next start makes it anew.`);
  }
}

function writeList(folder: string, list: StoreList): void {
  replaceJson(folder, folderPaths(folder).stores, list);
}

function isThere(folder: string, store: string): boolean {
  const path = join(folder, store);
  return existsSync(path) && statSync(path).size > 0;
}

/**
 * What has to be there in a folder from before there were marks. Accounts were made before lanes, and all lanes at once;
 * attachments and calendar came with later versions.
 */
function dueUnmarked(present: ReadonlySet<string>, lanes: number): string[] {
  const { accounts } = folderPaths('');
  if (![...present].some((store) => laneIn(store) !== undefined)) return [];
  return storesOf(lanes).filter((store) => store === accounts || laneIn(store) !== undefined);
}

/** The installation that most marks name; undefined where there is none. */
function installationOf(marks: readonly (string | undefined)[]): string | undefined {
  const counts = new Map<string, number>();
  for (const mark of marks) {
    const name = mark?.split(' ')[0];
    if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].toSorted(([, a], [, b]) => b - a)[0]?.[0];
}

/** What a store says of itself. */
function markOf(installation: string, store: string): string {
  return `${installation} ${store}`;
}

/** What is wrong with a store's mark; undefined when it is the right one, or none where none is due. */
function wrongMark(
  store: string,
  mark: string | undefined,
  installation: string | undefined,
  isListed: boolean,
): string | undefined {
  if (mark === undefined) return isListed ? 'is not the file that this installation made: it has no mark' : undefined;
  const [name, itself] = mark.split(' ');
  if (name !== installation) return 'is of another installation, or of this one before a restore';
  return itself === store ? undefined : `is ${itself} of this installation under another name`;
}

function laneIn(store: string): number | undefined {
  const digits = /^lanes\/(\d{2})\.mdb$/.exec(store)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function faultOf(folder: string, store: string, { message, part }: PageFault): StoreFault {
  const help =
    `put the right file back, or move the folder away and restore the newest backup: ` +
    `parley restore --from BACKUP --data ${folder}`;
  return { store, lane: laneIn(store), part, sentence: `${join(folder, store)} ${message}: ${help}` };
}
