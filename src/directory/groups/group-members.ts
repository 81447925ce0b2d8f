/**
 * Members of a group. Whatever grows with their number and needs no look at the group is done ahead of a change, in slices: who
 * comes is put in order and looked up. What is left for the change itself is one pass over two lists in order.
 */
import type { Slices } from '#src/base/slices.ts';
import type { AccountsDraft, AccountsReader } from '#storage/accounts/accounts.ts';
import { changedSince } from '../directory.ts';

/** Names that are put in order in one go: a third of a millisecond. */
const ORDERED_AT_ONCE = 1_000;
/** Changes of the directory between the look ahead and the change; beyond them everybody is looked up again. */
const CHANGES_SINCE_MAX = 1_000;

const NOBODY: ReadonlySet<string> = new Set();

/** What becomes of the members: of who is both added and removed it counts that they go. */
export interface MembersChange {
  readonly add: readonly string[];
  readonly remove: readonly string[];
  /** Whether everybody goes who is not added. */
  readonly isWhole?: boolean;
}

/** A change of members that is ready to be made of any list of them. */
export interface OrderedChange {
  /** In order, each once. */
  readonly come: readonly string[];
  readonly gone: ReadonlySet<string>;
  readonly isWhole: boolean;
}

export interface ChangedMembers {
  /** In order, as all of these. */
  readonly members: string[];
  /** Who was not there before. */
  readonly added: string[];
  readonly removed: string[];
}

type View = Pick<AccountsReader, 'person' | 'document'>;

/** Whether somebody may become a member. */
export type Fits = (view: View, username: string) => boolean;

export const isHere: Fits = (view, username) => {
  const person = view.person(username);
  return person !== undefined && person.state !== 'left';
};

/** Puts who comes in order. */
export async function orderChange(
  { add, isWhole = false, remove }: MembersChange,
  slices: Slices,
): Promise<OrderedChange> {
  const gone = new Set(remove);
  const names = [...new Set(add)].filter((user) => !gone.has(user));
  let come: readonly string[] = [];
  for (let at = 0; at < names.length; at += ORDERED_AT_ONCE) {
    if (slices.isOver) await slices.pass();
    const some = names.slice(at, at + ORDERED_AT_ONCE).toSorted();
    come = changeMembers(come, { come: some, gone: NOBODY, isWhole: false }).members;
  }
  return { come, gone, isWhole };
}

/** Makes a change of a list of members, which is in order. */
export function changeMembers(before: readonly string[], { come, gone, isWhole }: OrderedChange): ChangedMembers {
  const changed: ChangedMembers = { members: [], added: [], removed: [] };
  const { added, members, removed } = changed;
  let at = 0;
  const add = (until?: string) => {
    for (; at < come.length; at += 1) {
      const user = come[at] as string;
      if (until !== undefined && user >= until) return;
      added.push(user);
      members.push(user);
    }
  };
  for (const user of before) {
    add(user);
    const isNamed = come[at] === user;
    if (isNamed) at += 1;
    (isNamed || !(isWhole || gone.has(user)) ? members : removed).push(user);
  }
  add();
  return changed;
}

/**
 * Looks up who comes and is not there yet, in slices. What it resolves with finds, within a change, the first of some people
 * who does not fit: they are looked up again where they, or too many others, changed meanwhile.
 */
export async function lookAhead(
  accounts: AccountsReader,
  {
    come,
    fits,
    present,
  }: { readonly come: readonly string[]; readonly fits: Fits; readonly present: readonly string[] },
  slices: Slices,
): Promise<(draft: AccountsDraft, added: readonly string[]) => string | undefined> {
  const { directoryRev } = accounts;
  const known = new Set<string>();
  const { added } = changeMembers(present, { come, gone: NOBODY, isWhole: false });
  for (const user of added) {
    if (slices.isOver) await slices.pass();
    if (!fits(accounts, user)) break;
    known.add(user);
  }
  return (draft, coming) => {
    const changed = changedSince(draft, directoryRev, CHANGES_SINCE_MAX);
    const isKnown = (user: string) => changed !== undefined && known.has(user) && !changed.has(user);
    return coming.find((user) => !isKnown(user) && !fits(draft, user));
  };
}
