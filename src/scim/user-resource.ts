/** A person as a client of SCIM reads and writes them: what is kept beside the profile, and how the two make a User. */
import type { Json } from '#src/base/json.ts';
import type { Profile } from '#src/directory/directory.ts';
import { phone as e164, profileFields } from '#src/protocol/directory/directory.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { AttributeFinder, NOWHERE, USER_SCHEMA, USER_TYPE } from './attributes.ts';
import { isObject, listOf, type Resource } from './filter.ts';
import { partsIn } from './patch.ts';

/** UTF-16 units of a name or an id of a client. */
const TEXT_LENGTH_MAX = 256;

/** What is kept of a person beside their profile. */
export interface ScimPersonRecord {
  /** The id of the client. */
  readonly client: string;
  readonly userName: string;
  readonly externalId: string | null;
  readonly formatted: string | null;
  readonly familyName: string | null;
  readonly givenName: string | null;
  /** Whether the client said what the person is called, or it was made of the parts of the name. */
  readonly isCalled: boolean;
  /** RFC 3339; of the client's last change. */
  readonly changedAt: string;
  /** RFC 3339; null while the client has not deleted the person. */
  readonly deletedAt: string | null;
}

/** What a client wants a person to be. */
export interface WantedUser {
  readonly record: Omit<ScimPersonRecord, 'client' | 'changedAt' | 'deletedAt'>;
  readonly profile: Profile;
  /** Undefined where nothing was said of it. */
  readonly isActive: boolean | undefined;
}

export const USERS = new AttributeFinder(USER_TYPE);

/** The body of a creation or a replacement: known attributes under their own names, the others left out (section 3.3). */
export function readUserBody(body: Json | undefined): Resource {
  if (!isObject(body)) throw new Refusal('field_invalid');
  if (!listOf(body['schemas']).includes(USER_SCHEMA)) throw new Refusal('field_invalid', { field: 'schemas' });
  return knownOf(body, USERS);
}

/** The attributes of a body that can be written, under the names that they have here. */
export function knownOf(body: { readonly [key: string]: Json }, finder: AttributeFinder): Resource {
  const known = Object.entries(body).flatMap(([name, value]): [string, Json][] => {
    const path = finder.find(name);
    if (path === undefined || path === NOWHERE || path.part !== undefined) return [];
    const { attribute } = path;
    if (attribute.isReadOnly === true || value === null) return [];
    if (attribute.isMulti === true) return [[attribute.name, [...listOf(value)]]];
    if (attribute.type !== 'complex') return [[attribute.name, value]];
    if (!isObject(value)) throw new Refusal('field_invalid', { field: attribute.name });
    return [[attribute.name, partsIn(attribute, value)]];
  });
  return Object.fromEntries(known);
}

/** @throws Refusal `field_invalid` with the attribute that may not be so. */
export function wantedOf(resource: Resource): WantedUser {
  const name = isObject(resource['name']) ? resource['name'] : {};
  const part = (key: string) => textAt(name[key], `name.${key}`);
  const [formatted, familyName, givenName] = [part('formatted'), part('familyName'), part('givenName')];
  const userName = textAt(resource['userName'], 'userName');
  if (userName === null) throw new Refusal('field_invalid', { field: 'userName' });
  const called = textAt(resource['displayName'], 'displayName');
  const whole = [givenName, familyName].filter((each) => each !== null).join(' ');
  const made = [formatted, whole].find((each) => each !== null && each !== '') ?? null;
  return {
    record: {
      userName,
      externalId: textAt(resource['externalId'], 'externalId'),
      ...{ formatted, familyName, givenName },
      isCalled: called !== null,
    },
    profile: {
      display_name: called === null ? shortened(made) : parsed(profileFields.display_name, called, 'displayName'),
      title: parsed(profileFields.title, textAt(resource['title'], 'title'), 'title'),
      email: parsed(profileFields.email, usedOf(resource['emails'], 'emails'), 'emails'),
      phone: internationalOf(usedOf(resource['phoneNumbers'], 'phoneNumbers')),
    },
    isActive: truthOf(resource['active']),
  };
}

/** What operations change: the User without what follows from the rest. */
export function storedUser(record: ScimPersonRecord, profile: Profile, isActive: boolean): Resource {
  const { externalId, familyName, formatted, givenName, isCalled, userName } = record;
  const name = withoutNulls({ formatted, familyName, givenName });
  const one = (value: string): Json => [{ value, type: 'work', primary: true }];
  return {
    ...withoutNulls({
      externalId,
      userName,
      displayName: isCalled ? profile.display_name : null,
      title: profile.title,
    }),
    active: isActive,
    ...(Object.keys(name).length === 0 ? {} : { name }),
    ...(profile.email === null ? {} : { emails: one(profile.email) }),
    ...(profile.phone === null ? {} : { phoneNumbers: one(profile.phone) }),
  };
}

/** A User as clients read them; `location` begins where the resources do. */
export function shownUser(
  username: string,
  known: { readonly record: ScimPersonRecord; readonly profile: Profile; readonly isActive: boolean },
  meta: { readonly created: string; readonly location: string; readonly version: string },
): Resource {
  const { isActive, profile, record } = known;
  return {
    schemas: [USER_SCHEMA],
    id: username,
    ...storedUser(record, profile, isActive),
    ...withoutNulls({ displayName: profile.display_name }),
    meta: { resourceType: 'User', ...meta, lastModified: record.changedAt },
  };
}

/** A text without spaces around it; null for none and for an empty one, which says as much (RFC 7643, section 2.5). */
export function textAt(value: Json | undefined, field: string): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw new Refusal('field_invalid', { field });
  const text = value.trim();
  if (text.length > TEXT_LENGTH_MAX || /\p{Cc}/u.test(text)) throw new Refusal('field_invalid', { field });
  return text === '' ? null : text;
}

/** Truths come as texts, too. @throws Refusal `field_invalid`. */
function truthOf(value: Json | undefined): boolean | undefined {
  if (value === undefined || typeof value === 'boolean') return value;
  if (typeof value === 'string' && /^(?:true|false)$/i.test(value)) return value.toLowerCase() === 'true';
  throw new Refusal('field_invalid', { field: 'active' });
}

/** The value of a list that is used: the primary one, else that of work, else the first. */
function usedOf(value: Json | undefined, field: string): string | null {
  const elements = listOf(value).map((each) => (typeof each === 'string' ? { value: each } : each));
  const whole = elements.filter(isObject);
  if (whole.length < elements.length) throw new Refusal('field_invalid', { field });
  const filled = whole.filter((each) => textAt(each['value'], field) !== null);
  const used = filled.find((each) => each['primary'] === true) ?? filled.find((each) => each['type'] === 'work');
  return textAt((used ?? filled[0])?.['value'], field);
}

/** A number as people dial it, as E.164 has it; null for one that says no country. */
function internationalOf(text: string | null): string | null {
  const number = text?.replaceAll(/[\s().-]/g, '').replace(/^tel:/i, '');
  return e164.safeParse(number).success ? (number ?? null) : null;
}

function parsed(schema: (typeof profileFields)['title' | 'email'], text: string | null, field: string): string | null {
  if (text === null) return null;
  const { data, success } = schema.safeParse(text);
  if (!success) throw new Refusal('field_invalid', { field });
  return data;
}

/** A name that was made of others, as far as a profile can hold it. */
function shortened(text: string | null): string | null {
  const { data } = profileFields.display_name.safeParse(text?.slice(0, 100));
  return data ?? null;
}

function withoutNulls(values: Readonly<Record<string, string | null>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== null));
}
