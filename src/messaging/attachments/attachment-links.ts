/**
 * Links to attachments for players and image elements, which cannot send a credential: signed with a key of the
 * installation, good for a few minutes, and worth no more than the person they were made for is when they are used.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { Refusal } from '#src/protocol/errors.ts';

/** How long a link opens: longer than a player takes to begin, and it asks for another to go on after that. */
export const LINK_SECONDS = 300;

/** Whom and what a link is for. */
export interface LinkClaims {
  readonly attachment: string;
  readonly conversation: string;
  readonly user: string;
  /** Unix seconds. */
  readonly expires: number;
}

export function signLink(linkKey: Uint8Array, { attachment, conversation, user, expires }: LinkClaims): string {
  const payload = Buffer.from(JSON.stringify([conversation, user, expires])).toString('base64url');
  return `${payload}.${signatureOf(linkKey, attachment, payload).toString('base64url')}`;
}

/** @throws Refusal `attachment_link_invalid` for a link that was changed, is of another attachment or has expired. */
export function openLink(
  linkKeys: readonly Uint8Array[],
  attachment: string,
  link: string,
  nowSeconds: number,
): LinkClaims {
  const [payload = '', signature = ''] = link.split('.');
  const given = Buffer.from(signature, 'base64url');
  const isOurs = linkKeys.some((linkKey) => {
    const right = signatureOf(linkKey, attachment, payload);
    return given.length === right.length && timingSafeEqual(given, right);
  });
  if (!isOurs) throw new Refusal('attachment_link_invalid');
  const [conversation, user, expires] = JSON.parse(Buffer.from(payload, 'base64url').toString()) as [
    string,
    string,
    number,
  ];
  if (expires <= nowSeconds) throw new Refusal('attachment_link_invalid');
  return { attachment, conversation, user, expires };
}

function signatureOf(linkKey: Uint8Array, attachment: string, payload: string): Buffer {
  // The name keeps what is signed here from being mistaken for anything else that the key is used for.
  return createHmac('sha256', linkKey).update(`attachment-link\0${attachment}\0${payload}`).digest();
}
