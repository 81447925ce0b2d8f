/** Values under the name of an id, a digest or a version: kept, because people search logs by them. */

/** A digest of SHA-512 in hex has 128 characters; nothing longer is an id. */
const ID_MAX = 136;
/** Bytes of a word in front of hex. */
const PREFIX_MAX = 12;

/** Whether a value may stay as it is: hex, a uuid, base64 of a digest's length or a word, without an address in it. */
export function isNamedValue(source: string, start: number, end: number): boolean {
  if (end - start > ID_MAX) return false;
  const text = source.slice(start, end);
  return (
    (/^[A-Za-z0-9_-]{1,40}$|^[0-9a-fA-F-]+$/.test(text) || isPrefixedHex(text)) &&
    !/^(?:gh|gl|sk|xox|AKIA|svc_|bot_|eyJ)/.test(text)
  );
}

/** `sha256:9f86…`, `c_7f3a-…`: a short word, a mark, and hex with dashes to the end. */
function isPrefixedHex(text: string): boolean {
  for (let at = Math.min(PREFIX_MAX, text.length - 2); at >= 0; at -= 1)
    if (
      ':_-'.includes(text.charAt(at)) &&
      /^[\w-]*$/.test(text.slice(0, at)) &&
      /^[0-9a-fA-F-]+$/.test(text.slice(at + 1))
    )
      return true;
  return false;
}
