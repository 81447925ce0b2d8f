/** What a push says (WebDAV Push, 4.1): which collection changed, how, and up to where. */
import { DAV, WEBDAV_PUSH } from '../dav/xml/xml-names.ts';
import { escapeText } from '../dav/xml/xml-writer.ts';

/** As the push service is told that the message is one: it is encrypted beside. */
export const MESSAGE_TYPE = 'application/xml; charset="UTF-8"';

export interface PushMessage {
  /** Of the collection, the same for whoever sees it. */
  readonly topic: string;
  /** Whether what is in it changed, with the sync-token behind that; no token where the collection is gone. */
  readonly content: { readonly syncToken: string | undefined } | undefined;
  readonly isProperty: boolean;
}

/** A `push-message` element as a document. */
export function writePushMessage({ content, isProperty, topic }: PushMessage): string {
  const token = content?.syncToken === undefined ? '' : `<D:sync-token>${escapeText(content.syncToken)}</D:sync-token>`;
  const update = content === undefined ? '' : `<content-update>${token}</content-update>`;
  const property = isProperty ? '<property-update/>' : '';
  const namespaces = `xmlns="${WEBDAV_PUSH}" xmlns:D="${DAV}"`;
  return `<?xml version="1.0" encoding="utf-8"?>\n<push-message ${namespaces}><topic>${escapeText(topic)}</topic>${update}${property}</push-message>\n`;
}
