/**
 * What a provisioning client can say of people and groups here (RFC 7643): one table, by which filters are judged,
 * changes applied, answers cut to what was asked for, and the schemas shown.
 */

/** The schemas of the two kinds of resource (RFC 7643, section 8.7.1). */
export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Group';

/** An attribute as section 7 of RFC 7643 describes one; what is left out has the value that most have. */
export interface Attribute {
  readonly name: string;
  readonly description: string;
  /** `string` unless said. */
  readonly type?: 'boolean' | 'complex' | 'dateTime' | 'reference';
  readonly isMulti?: true;
  readonly isRequired?: true;
  /** Whether upper and lower case are two values. */
  readonly isCaseExact?: true;
  readonly isReadOnly?: true;
  readonly isUnique?: true;
  readonly values?: readonly string[];
  readonly parts?: readonly Attribute[];
}

/** What every resource has besides (RFC 7643, section 3.1). */
const COMMON: readonly Attribute[] = [
  { name: 'schemas', description: 'The schemas of the resource.', type: 'reference', isMulti: true, isReadOnly: true },
  { name: 'id', description: 'What the server calls it, for ever.', isCaseExact: true, isReadOnly: true },
  { name: 'externalId', description: 'What the client calls it.', isCaseExact: true },
  {
    name: 'meta',
    description: 'When it was made and changed, and its version.',
    type: 'complex',
    isReadOnly: true,
    parts: [
      { name: 'resourceType', description: 'User or Group.', isCaseExact: true, isReadOnly: true },
      { name: 'created', description: 'When it was made.', type: 'dateTime', isReadOnly: true },
      { name: 'lastModified', description: 'When the client changed it last.', type: 'dateTime', isReadOnly: true },
      { name: 'location', description: 'Its URL.', type: 'reference', isCaseExact: true, isReadOnly: true },
      { name: 'version', description: 'Its entity tag.', isCaseExact: true, isReadOnly: true },
    ],
  },
];

const ofList = (value: string, types: readonly string[]): readonly Attribute[] => [
  { name: 'value', description: value },
  { name: 'type', description: 'What it is for.', values: types },
  { name: 'primary', description: 'Whether it is the one that is used.', type: 'boolean' },
];

export const USER_ATTRIBUTES: readonly Attribute[] = [
  { name: 'userName', description: 'The name at the client.', isRequired: true, isUnique: true },
  {
    name: 'name',
    description: 'The parts of the name.',
    type: 'complex',
    parts: [
      { name: 'formatted', description: 'The name as a whole.' },
      { name: 'familyName', description: 'The family name.' },
      { name: 'givenName', description: 'The given name.' },
    ],
  },
  { name: 'displayName', description: 'What people read, up to 100 characters.' },
  { name: 'title', description: 'The job title, up to 100 characters.' },
  { name: 'active', description: 'Whether the person may sign in.', type: 'boolean' },
  {
    name: 'emails',
    description: 'One address is kept: the primary one, else that of work, else the first.',
    type: 'complex',
    isMulti: true,
    parts: ofList('The address.', ['work']),
  },
  {
    name: 'phoneNumbers',
    description: 'One number is kept, in E.164 form: the primary one, else that of work, else the first.',
    type: 'complex',
    isMulti: true,
    parts: ofList('The number.', ['work']),
  },
];

export const GROUP_ATTRIBUTES: readonly Attribute[] = [
  { name: 'displayName', description: 'The name, up to 100 characters.', isRequired: true, isUnique: true },
  {
    name: 'members',
    description: 'People whom this client provisions.',
    type: 'complex',
    isMulti: true,
    parts: [
      { name: 'value', description: 'The id of the person.', isCaseExact: true },
      { name: '$ref', description: 'The URL of the person.', type: 'reference', isCaseExact: true, isReadOnly: true },
      { name: 'type', description: 'Always User.', values: ['User'], isReadOnly: true },
    ],
  },
];

/**
 * Attributes of RFC 7643 that nothing here has a place for, in lower case: clients send them, and they are passed over.
 * So is everything of a schema that extends these two.
 */
const PASSED_OVER = new Set(
  `nickname profileurl usertype preferredlanguage locale timezone password ims photos addresses groups entitlements roles
  x509certificates name.middlename name.honorificprefix name.honorificsuffix emails.display phonenumbers.display
  members.display`.split(/\s+/),
);

/** One kind of resource. */
export interface ResourceType {
  readonly name: 'User' | 'Group';
  readonly endpoint: '/Users' | '/Groups';
  readonly description: string;
  readonly schema: string;
  readonly attributes: readonly Attribute[];
}

export const USER_TYPE: ResourceType = {
  name: 'User',
  endpoint: '/Users',
  description: 'People whom this client provisions.',
  schema: USER_SCHEMA,
  attributes: USER_ATTRIBUTES,
};
export const GROUP_TYPE: ResourceType = {
  name: 'Group',
  endpoint: '/Groups',
  description: 'Groups that this client made.',
  schema: GROUP_SCHEMA,
  attributes: GROUP_ATTRIBUTES,
};

/** An attribute that a path names: of a resource, or of one of its complex attributes. */
export interface AttributePath {
  readonly attribute: Attribute;
  readonly part: Attribute | undefined;
}

/** A path that leads to something that is not kept here. */
export const NOWHERE = 'nowhere';

/** Finds attributes by their names, whose case does not count (RFC 7643, section 2.1). */
export class AttributeFinder {
  readonly #type: ResourceType;
  readonly #prefix: string;
  readonly #byName: ReadonlyMap<string, Attribute>;

  constructor(type: ResourceType) {
    this.#type = type;
    this.#prefix = `${type.schema.toLowerCase()}:`;
    this.#byName = new Map([...COMMON, ...type.attributes].map((each) => [each.name.toLowerCase(), each]));
  }

  get type(): ResourceType {
    return this.#type;
  }

  /**
   * What a path such as `name.givenName` names, with or without the URN of the schema before it; `NOWHERE` for what
   * other servers keep and this one does not; undefined for what nobody knows.
   */
  find(path: string): AttributePath | typeof NOWHERE | undefined {
    const lower = path.toLowerCase();
    if (lower.startsWith('urn:') && !lower.startsWith(this.#prefix)) return NOWHERE;
    const name = lower.startsWith(this.#prefix) ? lower.slice(this.#prefix.length) : lower;
    const [first = '', second, third] = name.split('.');
    if (PASSED_OVER.has(first) || PASSED_OVER.has(name)) return NOWHERE;
    const attribute = this.#byName.get(first);
    if (attribute === undefined || third !== undefined) return undefined;
    if (second === undefined) return { attribute, part: undefined };
    const part = partOf(attribute, second);
    return part === undefined ? undefined : { attribute, part };
  }
}

/** A part of a complex attribute by its name, whose case does not count. */
export function partOf(attribute: Attribute, name: string): Attribute | undefined {
  return attribute.parts?.find((each) => each.name.toLowerCase() === name.toLowerCase());
}

/** How the schema of a resource describes its attributes (RFC 7643, section 7). */
export function describeAttribute(attribute: Attribute): Record<string, unknown> {
  const { description, isCaseExact, isMulti, isReadOnly, isRequired, isUnique, name, parts, type, values } = attribute;
  return {
    name,
    type: type ?? 'string',
    multiValued: isMulti === true,
    description,
    required: isRequired === true,
    caseExact: isCaseExact === true,
    mutability: isReadOnly === true ? 'readOnly' : 'readWrite',
    returned: 'default',
    uniqueness: isUnique === true ? 'server' : 'none',
    ...(type === 'reference' ? { referenceTypes: ['User'] } : {}),
    ...(values === undefined ? {} : { canonicalValues: values }),
    ...(parts === undefined ? {} : { subAttributes: parts.map(describeAttribute) }),
  };
}
