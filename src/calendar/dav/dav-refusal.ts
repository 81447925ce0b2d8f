/** Refusals of the DAV door: a status of DAV and an XML body with the element of the broken precondition. */
import { DECLARATIONS, dav, type XmlName } from './xml/xml-names.ts';
import { element, escapeText } from './xml/xml-writer.ts';

export type RefusalStatus =
  | 400
  | 401
  | 403
  | 404
  | 405
  | 409
  | 410
  | 412
  | 413
  | 415
  | 423
  | 429
  | 500
  | 501
  | 502
  | 503
  | 507;

export interface RefusalDetails {
  /** The precondition or postcondition that does not hold (RFC 4918 section 16). */
  readonly condition?: XmlName;
  /** XML inside the condition's element, such as the href of the object that is in the way. */
  readonly content?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An answer that is not what was asked for; expected, never logged as a fault. */
export class DavRefusal extends Error {
  readonly status: RefusalStatus;
  readonly condition: XmlName | undefined;
  readonly content: string;
  readonly headers: Readonly<Record<string, string>>;

  /** @param text an English sentence for whoever reads the answer by eye. */
  constructor(status: RefusalStatus, text: string, { condition, content = '', headers = {} }: RefusalDetails = {}) {
    super(text);
    this.status = status;
    this.condition = condition;
    this.content = content;
    this.headers = headers;
  }
}

/** Absent and not-yours: one answer for both, so that nobody's calendars can be guessed. */
export function notFound(): DavRefusal {
  return new DavRefusal(404, 'There is no such resource for you.');
}

/** The condition does not hold: 403, or 409 where the client can change it. */
export function broken(condition: XmlName, text: string, content = '', status: 403 | 409 = 403): DavRefusal {
  return new DavRefusal(status, text, { condition, content });
}

/** The privilege is missing, with the element that names it (RFC 3744 section 7.1.1). */
export function needPrivileges(href: string, privilege: XmlName): DavRefusal {
  const resource = element(
    dav('resource'),
    element(dav('href'), escapeText(href)) + element(dav('privilege'), element(privilege)),
  );
  return broken(dav('need-privileges'), 'You do not have the right to do this here.', resource);
}

/** The XML of a refusal. The sentence travels in `responsedescription`, which every reader of `error` skips. */
export function errorXml(refusal: DavRefusal): string {
  const { condition, content } = refusal;
  const inner = condition === undefined ? '' : element(condition, content);
  const text = element(dav('responsedescription'), escapeText(refusal.message));
  return `<?xml version="1.0" encoding="utf-8"?>\n<D:error${DECLARATIONS}>${inner}${text}</D:error>\n`;
}
