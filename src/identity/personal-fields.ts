/** What people say of themselves beside their profiles: time zone, language, status and a wish, as it is stored. */
import type { ChangeOwnProfile } from '#src/protocol/account/profile.ts';
import type { DirectoryEntry } from '#src/protocol/directory/directory.ts';
import type { AccountsDraft, AccountsReader } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';

export interface CustomStatus {
  readonly text?: string | undefined;
  readonly emoji?: string | undefined;
  /** RFC 3339: when it ends by itself. */
  readonly expires_at?: string | undefined;
}

/** Null where nothing is said. */
export interface PersonalFields {
  readonly time_zone: string | null;
  readonly language: string | null;
  readonly status: CustomStatus | null;
  /** The directory's change number that the person's picture came with. */
  readonly avatar: number | null;
  /** Whether the person wants to be asked before anybody adds them to a room. */
  readonly asked_first: true | null;
}

const NOTHING: PersonalFields = { time_zone: null, language: null, status: null, avatar: null, asked_first: null };

/** Username → theirs. */
const personalFields = defineCollection<Partial<PersonalFields>>('personal_fields', { version: 1 });
/** When a status ends, in milliseconds of 16 digits, and whose it is: in the order of the ends. */
const statusEnds = defineCollection<string>('status_ends', { version: 1 });

type View = Pick<AccountsDraft, 'document'>;

export function personalFieldsOf(view: View, username: string): PersonalFields {
  return { ...NOTHING, ...view.document(personalFields, username) };
}

/** What others read of it: not the language, which is for who writes to the person, nor whether they want to be asked. */
export function shownPersonalFields(
  view: View,
  username: string,
): Pick<DirectoryEntry, 'avatar' | 'status' | 'time_zone'> {
  const { time_zone: zone, status, avatar } = personalFieldsOf(view, username);
  return {
    ...(zone === null ? {} : { time_zone: zone }),
    ...(status === null ? {} : { status }),
    ...(avatar === null ? {} : { avatar }),
  };
}

/** Stores the fields that are named, as part of a change; answers whether anything is another. */
export function putPersonalFields(draft: AccountsDraft, username: string, change: ChangeOwnProfile): boolean {
  const before = personalFieldsOf(draft, username);
  const { time_zone = before.time_zone, language = before.language, status = before.status } = change;
  const wish = change.asked_first === undefined ? before.asked_first : change.asked_first || null;
  return replace(draft, username, before, { time_zone, language, status, avatar: before.avatar, asked_first: wish });
}

/** Stores the number of a person's picture, or that there is none, as part of a change. */
export function putAvatarRev(draft: AccountsDraft, username: string, avatar: number | null): void {
  const before = personalFieldsOf(draft, username);
  replace(draft, username, before, { ...before, avatar });
}

function replace(draft: AccountsDraft, username: string, before: PersonalFields, after: PersonalFields): boolean {
  if (JSON.stringify(after) === JSON.stringify(before)) return false;
  const [ended, ends] = [endId(username, before), endId(username, after)];
  if (ended !== undefined) draft.removeDocument(statusEnds, ended);
  if (ends !== undefined) draft.putDocument(statusEnds, ends, username);
  if (Object.values(after).every((value) => value === null)) draft.removeDocument(personalFields, username);
  else draft.putDocument(personalFields, username, after);
  return true;
}

/** Takes everything away that a person said of themselves, as part of a change. */
export function removePersonalFields(draft: AccountsDraft, username: string): void {
  putPersonalFields(draft, username, NOTHING);
}

/** Whose status ends next, and when, in milliseconds; up to `limit` of them, the soonest first. */
export function nextStatusEnds(accounts: Pick<AccountsReader, 'documents'>, limit: number) {
  return accounts
    .documents(statusEnds, { limit })
    .map(({ id, document }) => ({ username: document, at: Number(id.split('.')[0]) }));
}

function endId(username: string, { status }: PersonalFields): string | undefined {
  const end = status?.expires_at;
  return end === undefined ? undefined : `${String(Date.parse(end)).padStart(16, '0')}.${username}`;
}
