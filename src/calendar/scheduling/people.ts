/** Who takes part in an object, told apart by identity: several addresses may be those of one person. */
import { canonicalAddress } from '../address-book.ts';
import { type Component, propertiesOf, type Property, propertyOf } from '../icalendar/component.ts';
import { type Instance, said } from './instances.ts';

/** What the server knows of the addresses in an object: who it is, and what becomes of a message to them. */
export interface Recipient {
  /** A username, or the address itself for somebody who is not of the installation. */
  readonly identity: string;
  /** SCHEDULE-STATUS (RFC 6638, 3.2.9): a message goes out where it begins with `1`. */
  readonly status: string;
  /** Whether what is taken back can be told, to whomever it was said. */
  readonly isReachable: boolean;
}

/** Address in lower case → who that is. Plain data, so that it crosses threads. */
export type Recipients = Readonly<Record<string, Recipient>>;

/** When somebody outside last answered: the DTSTAMP of their reply, by which later ones are put in order. */
export const REPLY_STAMP = 'X-PARLEY-REPLIED';

/** What somebody added to their answer, for who asked them. */
export const RESPONSE_COMMENT = 'X-RESPONSE-COMMENT';

/** Parameters that are between a client and its server, and go to nobody else. */
const LOCAL_PARAMETERS = new Set([
  ...['SCHEDULE-AGENT', 'SCHEDULE-FORCE-SEND', 'SCHEDULE-STATUS'],
  ...[REPLY_STAMP, RESPONSE_COMMENT],
]);

/** Whose line it is. */
export function identityOf(recipients: Recipients, address: string): string {
  const canonical = canonicalAddress(address);
  return (Object.hasOwn(recipients, canonical) ? recipients[canonical]?.identity : undefined) ?? canonical;
}

/** The ATTENDEE line of somebody in a component. */
export function lineOf(recipients: Recipients, component: Component, identity: string): Property | undefined {
  return propertiesOf(component, 'ATTENDEE').find(({ value }) => identityOf(recipients, value) === identity);
}

/** Whether the server schedules for that line (RFC 6638, 7.1). */
export function isServers(line: Property): boolean {
  return said(line, 'SCHEDULE-AGENT', 'SERVER') === 'SERVER';
}

/** Somebody who is invited to some instances of an object. */
export interface Invited {
  readonly identity: string;
  /** As the object has it. */
  readonly address: string;
  /** Keys of the instances that they are invited to. */
  readonly keys: readonly string[];
  /** Whether the client leaves telling them to the server. */
  readonly isServers: boolean;
  /** Whether the client asks that they are told, whatever changed. */
  readonly isForced: boolean;
}

/** Everybody but the organiser, each once. */
export function invitedTo(
  instances: readonly Instance[],
  recipients: Recipients,
  organizer: string,
): Map<string, Invited> {
  const found = new Map<string, Invited & { keys: string[] }>();
  for (const { key, component } of instances) {
    for (const line of propertiesOf(component, 'ATTENDEE')) {
      const identity = identityOf(recipients, line.value);
      if (identity === organizer) continue;
      const known = found.get(identity);
      const keys = known?.keys ?? [];
      if (keys.at(-1) !== key) keys.push(key);
      found.set(identity, {
        ...{ identity, keys, address: known?.address ?? canonicalAddress(line.value) },
        isServers: (known?.isServers ?? true) && isServers(line),
        isForced: (known?.isForced ?? false) || said(line, 'SCHEDULE-FORCE-SEND', '') === 'REQUEST',
      });
    }
  }
  return found;
}

/** The organiser of an object as it is written. */
export function organizerOf(instances: readonly Instance[]): Property | undefined {
  return instances.flatMap(({ component }) => propertyOf(component, 'ORGANIZER') ?? [])[0];
}

/** A line with parameters set; undefined takes one out. */
export function withParameters(line: Property, changes: Readonly<Record<string, string | undefined>>): Property {
  const kept = line.parameters.filter(({ name }) => !Object.hasOwn(changes, name));
  const set = Object.entries(changes).flatMap(([name, value]) =>
    value === undefined ? [] : [{ name, values: [value] }],
  );
  return { ...line, parameters: [...kept, ...set] };
}

/** A line as others get it. */
export function withoutLocal(line: Property): Property {
  return { ...line, parameters: line.parameters.filter(({ name }) => !LOCAL_PARAMETERS.has(name)) };
}
