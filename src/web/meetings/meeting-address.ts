/** Addresses of meetings: the one that is handed around, which any browser and calendar opens, and its place in the app. */
const JOIN = /^v1\/meetings\/join\/([\w.~-]+)$/;

/** What to hand around for a link. */
export function addressOfMeeting(link: string): string {
  return new URL(`v1/meetings/join/${link}`, document.baseURI).href;
}

/** The link of an address that is one of this installation's meetings; undefined for any other. */
export function linkOfMeeting(address: string): string | undefined {
  const base = new URL('.', document.baseURI).href;
  return address.startsWith(base) ? JOIN.exec(address.slice(base.length))?.[1] : undefined;
}
