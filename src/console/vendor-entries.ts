/**
 * Entries of the audit trail before they are de-personalised (VND-16): what no rule of logs finds, since it is only
 * beside another answer that it tells something.
 */
import { marker } from '#src/redaction/spans.ts';

/** What of an entry is looked at here. */
interface ShownEntry {
  readonly event: string;
  readonly actor: string;
  readonly about: string | null;
  readonly details: Readonly<Record<string, unknown>>;
  readonly hash: string;
}

/**
 * What the events begin with that change a list which a vendor reads by name: of people, guests, groups, meetings and roles.
 * The list has the instant, the title and the role of the entry beside a name, so that a pseudonym in the entry would be
 * that name's, there and in every other answer. Whom such an entry is about is told by the list alone.
 */
const TOLD_BY_LISTS = ['user.', 'guest.', 'enrollment.', 'group.', 'meeting.', 'console_role.'] as const;

/** Those of them that people do by themselves, so that the list names who did it. */
const DONE_BY_PEOPLE = ['guest.', 'enrollment.', 'meeting.'] as const;

/**
 * What the events begin with of things that people name: a group of one person that is called the same in the list of
 * groups would name its member.
 */
const NAMED_BY_PEOPLE = ['calendar.', 'dav.', 'bot.', 'webhook.'] as const;

const PERSON = 'user:';

/** An id as the server makes it: of what is in no list, or there under another one (id-pseudonyms.ts). */
const ID = /^[a-z]{1,4}_[0-9abcdefghjkmnpqrstvwxyz]{22}$/;

/**
 * An entry as it is given to the redactor. Its hash is hidden as well: it is over what is hidden, and whoever tries every
 * name there is against it would know which name stands behind a pseudonym, and which number behind the `x` of an address.
 */
export function entryForVendor<Entry extends ShownEntry>(entry: Entry): Entry {
  const { event, about, actor, details } = entry;
  const hidden = { ...entry, hash: marker('random') };
  if (begins(event, NAMED_BY_PEOPLE)) return { ...hidden, details: withoutNames(details) };
  if (!begins(event, TOLD_BY_LISTS)) return hidden;
  const isOwnDeed = actor === about || begins(event, DONE_BY_PEOPLE);
  return {
    ...hidden,
    actor: isOwnDeed ? withoutPerson(actor) : actor,
    about: about === null ? null : withoutPerson(about),
    details: withoutTexts(details) as Entry['details'],
  };
}

function begins(event: string, parts: readonly string[]): boolean {
  return parts.some((part) => event.startsWith(part));
}

function withoutPerson(text: string): string {
  return text.startsWith(PERSON) ? `${PERSON}${marker('text')}` : text;
}

/** Which fields there are, how many, numbers, switches and ids, which get pseudonyms, and no other text. */
function withoutTexts(value: unknown): unknown {
  if (typeof value === 'string') return ID.test(value) ? value : marker('text');
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutTexts);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutTexts(inner)]));
}

function withoutNames(details: ShownEntry['details']): ShownEntry['details'] {
  const fields = Object.entries(details).map(([name, value]) => {
    if (name === 'name' || name === 'display_name') return [name, marker('text')];
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return [name, isObject ? withoutNames(value as ShownEntry['details']) : value];
  });
  return Object.fromEntries(fields) as ShownEntry['details'];
}
