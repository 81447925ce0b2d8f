/** Reports about people: expand-property, principal-match, principal-property-search (RFC 3253, RFC 3744). */
import { broken, DavRefusal } from '../dav-refusal.ts';
import type { Principal } from '../dav-context.ts';
import { answerRows, answerXml, type DavAnswer, type DavRequest } from '../exchange.ts';
import { propertyRow } from '../xml/multistatus.ts';
import { principalHref, readHref } from '../paths.ts';
import { groupsOf, readAsked } from '../properties/propfind.ts';
import { readProperty, type Asking } from '../properties/properties.ts';
import { isBrief } from '../request-preferences.ts';
import { findResource, type PrincipalResource, type Resource } from '../resources.ts';
import { caldav, calendarserver, dav, DECLARATIONS, nameOf, type XmlName } from '../xml/xml-names.ts';
import { childOf, childrenOf, textOf, type XmlElement } from '../xml/xml-reader.ts';
import { element, textElement } from '../xml/xml-writer.ts';

/** People in one answer to a search. Whoever sees as many types another letter. */
export const FOUND_MAX = 100;
/** Nesting of expand-property, and rows that it may expand to: Apple asks two deep for a handful. [403, left empty] */
export const EXPANSIONS_MAX = 200;

/** Things that one search looks for: a name, an address, and what a client makes of both. [403] */
export const SEARCHES_MAX = 10;

/** What people can be found by. */
const SEARCHABLE: readonly (readonly [XmlName, string, (principal: Principal) => readonly string[]])[] = [
  [dav('displayname'), 'Name', ({ displayName, user }) => [displayName, user]],
  [caldav('calendar-user-address-set'), 'Calendar address', ({ addresses }) => addresses],
  [calendarserver('email-address-set'), 'E-mail address', ({ addresses }) => addresses],
  [caldav('calendar-user-type'), 'Room or resource', ({ type }) => [type]],
];

/** Answers principal-search-property-set: what people can be found by. */
export function searchProperties(): DavAnswer {
  const rows = SEARCHABLE.map(([name, say]) =>
    element(
      dav('principal-search-property'),
      element(dav('prop'), element(name)) + element(dav('description'), say, { 'xml:lang': 'en' }),
    ),
  );
  const tag = 'D:principal-search-property-set';
  return answerXml(200, `<${tag}${DECLARATIONS}>${rows.join('')}</${tag}>`);
}

/** Answers principal-property-search among the people whom the viewer may see. @throws DavRefusal 400 */
export function searchPrincipals(request: DavRequest, root: XmlElement): DavAnswer {
  const { context, viewer } = request;
  const searches = childrenOf(root, dav('property-search')).map((search) => ({
    names: (childOf(search, dav('prop'))?.children ?? []).map(({ name }) => name),
    text: (textOf(search, dav('match')) ?? '').replace(/^mailto:/i, '').toLowerCase(),
  }));
  if (searches.length === 0) throw new DavRefusal(400, 'A search says what to look for.');
  if (searches.length > SEARCHES_MAX) {
    throw broken(dav('number-of-matches-within-limits'), `A search looks for ${SEARCHES_MAX} things at most.`);
  }
  const isAny = root.attributes.get('test') === 'anyof';
  const found = new Map<string, Principal>();
  for (const { text } of isAny ? searches : searches.slice(0, 1)) {
    for (const principal of context.principals.search(viewer, text, FOUND_MAX)) found.set(principal.user, principal);
  }
  const passing = [...found.values()].filter((principal) => {
    const fits = (search: (typeof searches)[number]) => isFound(principal, search.names, search.text);
    return isAny ? searches.some(fits) : searches.every(fits);
  });
  return answerPrincipals(request, root, passing.slice(0, FOUND_MAX));
}

function isFound(principal: Principal, names: readonly XmlName[], text: string): boolean {
  return SEARCHABLE.some(
    ([name, , values]) => names.includes(name) && values(principal).some((value) => value.toLowerCase().includes(text)),
  );
}

/** Answers principal-match for `self`: the viewer's own principal. @throws DavRefusal 400 */
export function matchPrincipal(request: DavRequest, root: XmlElement): DavAnswer {
  if (childOf(root, dav('self')) === undefined) throw new DavRefusal(400, 'Only DAV:self can be matched here.');
  const self = request.context.principals.find(request.viewer, request.viewer);
  return answerPrincipals(request, root, self === undefined ? [] : [self]);
}

function answerPrincipals(request: DavRequest, root: XmlElement, found: readonly Principal[]): DavAnswer {
  const asked = readAsked(root) ?? { kind: 'some', names: [dav('displayname')] };
  const brief = isBrief(request.headers);
  return answerRows(
    found.map((principal) => {
      const resource: PrincipalResource = { kind: 'principal', href: principalHref(principal.user), principal };
      return propertyRow(resource.href, groupsOf(resource, asked, request), brief);
    }),
  );
}

/** Answers expand-property: properties, and where they hold hrefs, properties of those. @throws DavRefusal */
export function expandProperty(request: DavRequest, root: XmlElement, resource: Resource): DavAnswer {
  const brief = isBrief(request.headers);
  return answerRows([expandedRow(request, resource, root, brief, { left: EXPANSIONS_MAX })]);
}

function expandedRow(
  asking: Asking,
  resource: Resource,
  asked: XmlElement,
  isBriefAnswer: boolean,
  budget: { left: number },
): string {
  let found = '';
  const missing: XmlName[] = [];
  for (const property of childrenOf(asked, dav('property'))) {
    const local = property.attributes.get('name') ?? '';
    if (!LOCAL_NAME.test(local)) throw new DavRefusal(400, 'A property is named by its attributes.');
    const name = nameOf(property.attributes.get('namespace') ?? 'DAV:', local);
    const xml = readProperty(name, resource, asking);
    if (xml === undefined) missing.push(name);
    else if (property.children.length === 0) found += xml;
    else
      found += element(
        name,
        hrefsIn(xml)
          .map((href) => expandHref(asking, href, property, isBriefAnswer, budget))
          .join(''),
      );
  }
  return propertyRow(resource.href, { found, missing }, isBriefAnswer);
}

const LOCAL_NAME = /^[A-Za-z_][\w.-]{0,63}$/;

function expandHref(
  asking: Asking,
  href: string,
  asked: XmlElement,
  isBriefAnswer: boolean,
  budget: { left: number },
): string {
  budget.left -= 1;
  if (budget.left < 0) throw new DavRefusal(403, `One request may expand ${EXPANSIONS_MAX} hrefs.`);
  let resource: Resource;
  try {
    resource = findResource(asking.context, asking.viewer, readHref(href));
  } catch (error) {
    // An address that is no resource (`mailto:`), or is none of the viewer's, stays what it is.
    if (error instanceof DavRefusal) return textElement(dav('href'), href);
    throw error;
  }
  return expandedRow(asking, resource, asked, isBriefAnswer, budget);
}

/** The hrefs of a property as this door writes them. */
function hrefsIn(xml: string): string[] {
  return [...xml.matchAll(/<D:href>([^<]*)<\/D:href>/g)].map(([, text = '']) =>
    text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&'),
  );
}
