/** Names of XML elements as the DAV door keeps them: `{namespace}local`, with the prefixes that its answers use. */

export const DAV = 'DAV:';
export const CALDAV = 'urn:ietf:params:xml:ns:caldav';
export const CALENDARSERVER = 'http://calendarserver.org/ns/';
export const APPLE_ICAL = 'http://apple.com/ns/ical/';
/** Of WebDAV Push (draft-bitfire-webdav-push). */
export const WEBDAV_PUSH = 'https://bitfire.at/webdav-push';

/** An element's or property's name: `{DAV:}getetag`. */
export type XmlName = `{${string}}${string}`;

/** Namespaces that every answer declares at its root. Any other is declared where it occurs. */
export const PREFIXES: ReadonlyMap<string, string> = new Map([
  [DAV, 'D'],
  [CALDAV, 'C'],
  [CALENDARSERVER, 'CS'],
  [APPLE_ICAL, 'A'],
]);

/** The declarations of those prefixes, for the root element of an answer. */
export const DECLARATIONS: string = [...PREFIXES].map(([uri, prefix]) => ` xmlns:${prefix}="${uri}"`).join('');

export function nameOf(uri: string, local: string): XmlName {
  return `{${uri}}${local}`;
}

export const dav = (local: string): XmlName => nameOf(DAV, local);
export const caldav = (local: string): XmlName => nameOf(CALDAV, local);
export const calendarserver = (local: string): XmlName => nameOf(CALENDARSERVER, local);
export const pushName = (local: string): XmlName => nameOf(WEBDAV_PUSH, local);
export const appleIcal = (local: string): XmlName => nameOf(APPLE_ICAL, local);

/** Namespace and local part of a name. */
export function partsOf(name: XmlName): { uri: string; local: string } {
  const end = name.lastIndexOf('}');
  return { uri: name.slice(1, end), local: name.slice(end + 1) };
}
