/**
 * Members of a group, also where its server gives them in parts: Active Directory gives 1,500 at a time under
 * `member;range=0-1499`, and the rest to whoever asks for it by its place ([MS-ADTS], 3.1.1.3.1.3.3).
 */
import type { Client, Entry } from 'ldapts';

/** Members that are read of one group. Beyond it, or where a part does not follow the one before: the group stays as it is here. */
export const LDAP_MEMBERS_MAX = 100_000;

/** Attributes that list members. */
export const MEMBER_ATTRIBUTES = ['member', 'uniqueMember'];

const PART = /^(member|uniqueMember);range=(\d+)-(\d+|\*)$/i;

interface Part {
  readonly attribute: string;
  /** The place of its first member, and of the first of the next part; undefined in the last one. */
  readonly from: number;
  readonly next: number | undefined;
  readonly members: readonly string[];
}

/** Distinguished names, as the server writes them; undefined where not all of them are to be had. */
export async function membersOf(client: Pick<Client, 'search'>, entry: Entry): Promise<string[] | undefined> {
  const members = Object.entries(entry).flatMap(([name, values]) =>
    MEMBER_ATTRIBUTES.some((attribute) => attribute.toLowerCase() === name.toLowerCase()) ? textsOf(values) : [],
  );
  for (const first of partsOf(entry)) {
    if (first.from !== 0) return undefined;
    for (let part = first; ;) {
      members.push(...part.members);
      if (part.next === undefined) break;
      if (members.length > LDAP_MEMBERS_MAX) return undefined;
      const following = await partAt(client, entry.dn, part.attribute, part.next);
      // A server that begins elsewhere, or gives nothing, would be asked for ever.
      if (following === undefined || following.members.length === 0) return undefined;
      part = following;
    }
  }
  return members.length > LDAP_MEMBERS_MAX ? undefined : members;
}

async function partAt(
  client: Pick<Client, 'search'>,
  dn: string,
  attribute: string,
  from: number,
): Promise<Part | undefined> {
  const { searchEntries } = await client.search(dn, {
    scope: 'base',
    derefAliases: 'never',
    filter: '(objectClass=*)',
    attributes: [`${attribute};range=${from}-*`],
  });
  const [entry] = searchEntries;
  return entry === undefined ? undefined : partsOf(entry).find((part) => part.from === from);
}

function partsOf(entry: Entry): Part[] {
  return Object.entries(entry).flatMap(([name, values]): Part[] => {
    const [, attribute, from, to] = PART.exec(name) ?? [];
    if (attribute === undefined) return [];
    const next = to === '*' ? undefined : Math.max(Number(to), Number(from)) + 1;
    return [{ attribute, from: Number(from), next, members: textsOf(values) }];
  });
}

function textsOf(values: Entry[string]): string[] {
  return [values].flat().map((value) => value.toString());
}
