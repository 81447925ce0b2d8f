/** Whom a mail says that it is from: one address, written in a way that nobody can read as another one. */
import { bareOf, type HeaderField } from './header-fields.ts';

export interface FromAddress {
  /** In lower case, as calendar addresses are compared. */
  readonly address: string;
  readonly domain: string;
}

const ADDRESS = String.raw`[a-z0-9!#$%&'*+/=?^_{|}~\x60-]+(?:\.[a-z0-9!#$%&'*+/=?^_{|}~\x60-]+)*@(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]+`;
/** An address alone, or behind a name in angle brackets. The name may be anything that is not read as an address. */
const MAILBOX = new RegExp(String.raw`^\s*(?:([^<>@,;:\[\]\\]*)<\s*(${ADDRESS})\s*>|(${ADDRESS}))\s*$`, 'i');
const WHOLE_ADDRESS = new RegExp(`^${ADDRESS}$`);
/** The longest address that mail can be sent to (RFC 5321, 4.5.3.1). */
const ADDRESS_LENGTH_MAX = 254;
/** The longest From field: an address and a name of many encoded words. [sender_invalid] */
export const FROM_LENGTH_MAX = 2_000;

/**
 * The address of the one From field. Undefined where there is none or a second one, several addresses, a group, or an
 * address of other than ASCII characters: what DMARC was checked for has to be what is read here.
 */
export function fromAddress(fields: readonly HeaderField[]): FromAddress | undefined {
  const [from, second] = fields.filter(({ name }) => name === 'from');
  if (from === undefined || second !== undefined || from.value.length > FROM_LENGTH_MAX) return undefined;
  const bare = bareOf(from.value);
  const [, , bracketed, alone] = (bare === undefined ? null : MAILBOX.exec(bare.text)) ?? [];
  const address = (bracketed ?? alone)?.toLowerCase();
  if (address === undefined || address.length > ADDRESS_LENGTH_MAX) return undefined;
  return { address, domain: address.slice(address.lastIndexOf('@') + 1) };
}

/** An address of an envelope in the form in which addresses are compared; undefined for what is none. */
export function envelopeAddress(text: string): string | undefined {
  const address = text.trim().toLowerCase();
  return address.length <= ADDRESS_LENGTH_MAX && WHOLE_ADDRESS.test(address) ? address : undefined;
}
