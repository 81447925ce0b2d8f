/** What a collection says of pushes (WebDAV Push, 2.1): over what, under which topic, and of what. */
import type { CalendarResource } from '../resources.ts';
import type { DavContext } from '../dav-context.ts';
import { dav, pushName, type XmlName } from '../xml/xml-names.ts';
import { element, escapeText, textElement } from '../xml/xml-writer.ts';

/** Name → the XML inside its element. */
export const PUSH_PROPERTIES: readonly [
  XmlName,
  (resource: CalendarResource, asking: { readonly context: Pick<DavContext, 'push'> }) => string,
][] = [
  [
    pushName('transports'),
    (_, { context }) =>
      element(
        pushName('web-push'),
        element(pushName('vapid-public-key'), escapeText(context.push.publicKey), { type: 'p256ecdsa' }),
      ),
  ],
  // The same for everybody who sees the calendar, at whatever URL.
  [pushName('topic'), ({ calendar }) => escapeText(calendar.id)],
  [
    pushName('supported-triggers'),
    () =>
      element(pushName('content-update'), textElement(dav('depth'), '1')) +
      element(pushName('property-update'), textElement(dav('depth'), '0')),
  ],
];
