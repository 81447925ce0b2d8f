/** Addresses that a link of a message may lead to. */
const SCHEMES = new Set(['http:', 'https:', 'mailto:']);

/** An address that leads out to the web; undefined for scripts, files and what is none. */
export function webAddress(text: string): string | undefined {
  try {
    const url = new URL(text);
    return SCHEMES.has(url.protocol) ? url.href : undefined;
  } catch {
    return undefined;
  }
}
