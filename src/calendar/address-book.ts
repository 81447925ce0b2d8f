/**
 * Calendar addresses: which of them are whose. Everybody has a `urn:uuid:` that stays, and the e-mail address that the
 * directory has of them, as long as nobody else had it before. Nobody can state an address: administrators do.
 */
import { createHash } from 'node:crypto';
import type { DirectoryEntry } from '#src/protocol/directory/directory.ts';
import type { ManagedResource } from '#src/protocol/directory/resources.ts';

/** The people of the installation, whoever asks. */
export interface DirectoryView {
  entry(username: string): DirectoryEntry | undefined;
  changedSince(
    afterRev: number,
    limit: number,
  ): { readonly entries: readonly DirectoryEntry[]; readonly rev: number; readonly more: boolean };
  /** Who has an e-mail address, in the order in which they got it; without those who had it before that was kept. */
  holdersOf(email: string): readonly string[];
}

/** The rooms and resources of the installation. */
export interface ResourcesView {
  all(): readonly ManagedResource[];
  find(user: string): ManagedResource | undefined;
  /** Which of them has an e-mail address, given in lower case. */
  holderOf(email: string): string | undefined;
}

const NO_RESOURCES: ResourcesView = { all: () => [], find: () => undefined, holderOf: () => undefined };

/** People taken over in one step of the first reading. */
const STEP = 1_000;

interface Known {
  readonly email: string | undefined;
  readonly name: string;
  readonly kind: DirectoryEntry['kind'];
}

export class AddressBook {
  readonly #directory: DirectoryView;
  readonly #resources: ResourcesView;
  /** Resource → the address that follows from its name, and back. Names are never given again, so that none of them is wrong. */
  readonly #uuids = new Map<string, string>();
  readonly #resourceUuids = new Map<string, string>();
  readonly #people = new Map<string, Known>();
  /** Address in lower case → usernames that have it, in the order in which they were read. */
  readonly #owners = new Map<string, readonly string[]>();
  #rev = 0;

  constructor(directory: DirectoryView, resources: ResourcesView = NO_RESOURCES) {
    this.#directory = directory;
    this.#resources = resources;
  }

  /** Reads everybody once; what changes later is read when somebody asks. */
  async prepare(): Promise<void> {
    while (this.#step()) await new Promise(setImmediate);
  }

  /** The time zone of somebody's profile; undefined where they have said none. */
  zoneOf(user: string): string | undefined {
    return this.#resources.find(user)?.time_zone ?? this.#directory.entry(user)?.time_zone;
  }

  /** Whose address it is; undefined for one of nobody here. */
  userOf(address: string): string | undefined {
    this.#catchUp();
    const wanted = canonicalAddress(address);
    const named = PRINCIPAL.exec(wanted)?.[1];
    // A principal's path is an address of that person, too (RFC 6638, 2.4.1).
    if (named !== undefined) return this.#isKnown(decoded(named)) ? decoded(named) : undefined;
    const resource = this.#resourceOf(wanted);
    if (resource !== undefined) return resource;
    const owners = this.#owners.get(wanted) ?? [];
    return owners.length > 1 ? this.#firstOf(owners, wanted) : owners[0];
  }

  #isKnown(user: string): boolean {
    return this.#people.has(user) || this.#resources.find(user) !== undefined;
  }

  /** A resource has its addresses alone: one that a person has is refused it, and a person who comes later is too late. */
  #resourceOf(address: string): string | undefined {
    if (address.startsWith('mailto:')) return this.#resources.holderOf(address.slice('mailto:'.length));
    if (!address.startsWith('urn:uuid:')) return undefined;
    const known = this.#resourceUuids.get(address);
    if (known !== undefined) return this.#resources.find(known)?.user;
    if (this.#owners.has(address)) return undefined;
    for (const { user } of this.#resources.all()) {
      if (this.#uuids.has(user)) continue;
      this.#uuids.set(user, uuidAddress(user));
      this.#resourceUuids.set(uuidAddress(user), user);
    }
    return this.#resourceUuids.get(address);
  }

  /** Who had an address first. The order in which people were read is that of their last changes, since a restart. */
  #firstOf(owners: readonly string[], address: string): string | undefined {
    const holders = this.#directory.holdersOf(address.replace(/^mailto:/, ''));
    return owners.find((owner) => !holders.includes(owner)) ?? holders.find((holder) => owners.includes(holder));
  }

  /** The addresses of a person, the one that others know them by first. */
  addressesOf(user: string): readonly string[] {
    const resource = this.#resources.find(user);
    if (resource !== undefined)
      return [...(resource.email === null ? [] : [`mailto:${resource.email}`]), uuidAddress(user)];
    this.#catchUp();
    const known = this.#people.get(user);
    if (known === undefined) return [];
    const mail = known.email === undefined ? undefined : `mailto:${known.email}`;
    return [...(mail !== undefined && this.userOf(mail) === user ? [mail] : []), uuidAddress(user)];
  }

  /** What a person is called: the display name, or the username. */
  nameOf(user: string): string {
    this.#catchUp();
    return this.#resources.find(user)?.name ?? this.#people.get(user)?.name ?? user;
  }

  /** How a calendar calls what an address stands for (CUTYPE; RFC 5545, 3.2.3). */
  typeOf(user: string): 'INDIVIDUAL' | 'ROOM' | 'RESOURCE' {
    const resource = this.#resources.find(user);
    return resource === undefined ? 'INDIVIDUAL' : resource.kind === 'room' ? 'ROOM' : 'RESOURCE';
  }

  /**
   * Usernames of people whose name, username or e-mail address holds the text, in any case of letters, then of resources whose
   * name, address, place or kind does.
   */
  *search(text: string): Generator<string> {
    this.#catchUp();
    const wanted = text.toLowerCase();
    for (const [user, { name, email = '', kind }] of this.#people) {
      if (kind === 'bot') continue;
      if ([user, name.toLowerCase(), email].some((field) => field.includes(wanted))) yield user;
    }
    // Behind the people, whom nobody means by “room”.
    for (const { email, kind, name, place, user } of this.#resources.all()) {
      const fields = [user, name.toLowerCase(), email ?? '', place?.toLowerCase() ?? '', kind];
      if (fields.some((field) => field.includes(wanted))) yield user;
    }
  }

  #catchUp(): void {
    while (this.#step());
  }

  /** Takes some over; answers whether there are more. */
  #step(): boolean {
    const { entries, rev, more } = this.#directory.changedSince(this.#rev, STEP);
    for (const entry of entries) this.#take(entry);
    this.#rev = rev;
    return more;
  }

  #take({ user, display_name: name = user, email, kind, state }: DirectoryEntry): void {
    const before = this.#people.get(user);
    const mail = state === 'left' ? undefined : email?.toLowerCase();
    if (before?.email !== undefined && before.email !== mail) this.#disown(`mailto:${before.email}`, user);
    this.#people.set(user, { email: mail, name, kind });
    this.#own(uuidAddress(user), user);
    if (mail !== undefined) this.#own(`mailto:${mail}`, user);
  }

  #own(address: string, user: string): void {
    const owners = this.#owners.get(address) ?? [];
    if (!owners.includes(user)) this.#owners.set(address, [...owners, user]);
  }

  #disown(address: string, user: string): void {
    const owners = (this.#owners.get(address) ?? []).filter((owner) => owner !== user);
    if (owners.length === 0) this.#owners.delete(address);
    else this.#owners.set(address, owners);
  }
}

/** The path of a principal, alone or behind the address of any server: who it names is a claim all the same. */
const PRINCIPAL = /^(?:https?:\/\/[^/]*)?\/dav\/principals\/([^/?#]+)\/?$/;

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment).toLowerCase();
  } catch {
    return segment;
  }
}

/** An address as it is compared: in lower case, without what clients put around it. */
export function canonicalAddress(address: string): string {
  return address.trim().toLowerCase();
}

/** The address that follows from a username and never changes: a version 8 UUID (RFC 9562). */
export function uuidAddress(user: string): string {
  const hex = createHash('sha256').update(`parley:calendar-user:${user}`).digest('hex');
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 3) | 8).toString(16);
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `${variant}${hex.slice(17, 20)}`];
  return `urn:uuid:${parts.join('-')}-${hex.slice(20, 32)}`;
}
