/**
 * The report `sync-collection` on a home (RFC 6578): which calendars came, changed or went, and with the level `infinite` what changed
 * in each of them, in one answer.
 */
import { SYNC_START, type SyncPosition } from '#storage/calendars/calendar-reader.ts';
import { ensureDefaultCalendar } from '../../calendar-access.ts';
import { DavRefusal } from '../dav-refusal.ts';
import { answerStream, type DavAnswer, type DavRequest } from '../exchange.ts';
import { knownOf, readHomeToken, writeHomeToken, type KnownCalendar, type KnownHome } from '../home-token.ts';
import { calendarHref } from '../paths.ts';
import { groupsOf, OBJECTS_PER_READ } from '../properties/propfind.ts';
import { isBrief } from '../request-preferences.ts';
import { calendarsOf, isReadable, segmentOf, type CalendarResource, type HomeResource } from '../resources.ts';
import { invalidSyncToken } from '../sync-token.ts';
import { dav } from '../xml/xml-names.ts';
import { propertyRow, statusRow, syncTokenElement } from '../xml/multistatus.ts';
import { textOf, type XmlElement } from '../xml/xml-reader.ts';
import { readObjectRequest } from './object-rows.ts';
import { changeRows, readLimit } from './sync-collection.ts';

interface Member {
  readonly segment: string;
  readonly collection: CalendarResource;
  readonly before: KnownCalendar | undefined;
  readonly now: KnownCalendar;
}

/** Answers the report. @throws DavRefusal 403 valid-sync-token for a token that is too old or none of this home. */
export async function homeSync(request: DavRequest, root: XmlElement, home: HomeResource): Promise<DavAnswer> {
  const { context, viewer } = request;
  const token = textOf(root, dav('sync-token')) ?? '';
  const isDeep = readLevel(root);
  const limit = readLimit(root);
  const known: KnownHome = token === '' ? new Map() : readHomeToken(context.epoch, token, isDeep);
  if (token === '') await ensureDefaultCalendar(context.calendars, viewer);
  const members = calendarsOf(context, viewer).map((collection): Member => {
    const segment = segmentOf(collection);
    return { segment, collection, before: known.get(segment), now: knownOf(collection) };
  });
  // Whether the token is good is known before the answer begins.
  if (members.some((member) => isExpired(member, isDeep))) throw invalidSyncToken();
  const present = new Set(members.map(({ segment }) => segment));
  const gone = [...known.keys()].filter((segment) => !present.has(segment));
  const behind = members.filter(({ before, now }) => before?.look !== now.look || !isAt(before.position, now.position));
  const reached = new Map(known);
  const asked = readObjectRequest(root);
  const brief = isBrief(request.headers);
  const rowOf = ({ collection }: Member): string =>
    isDeep && !isReadable(collection)
      ? statusRow(collection.href, 403, dav('sync-traversal-supported'))
      : propertyRow(collection.href, groupsOf(collection, asked.asked, request), brief);
  let left = limit;
  let isWhole = false;
  /** What changed in a calendar, as far as the client takes it. */
  function* changesIn(
    { before, collection, segment }: Member,
    { identity, position: end }: KnownCalendar,
  ): Generator<string> {
    let position = before?.position ?? SYNC_START;
    while (!isAt(position, end) && left > 0) {
      const page = collection.contents.changesSince(position, Math.min(left, OBJECTS_PER_READ));
      if (page === 'expired') return;
      yield* changeRows(collection, page, asked, request);
      left -= page.changed.length + page.removed.length;
      ({ position } = page);
      // Its own row stands behind those of what is in it, and says that there is no more.
      reached.set(segment, { identity, look: before?.look ?? '', position });
      if (!page.more) return;
    }
  }
  /** Ends where the client takes no more. */
  function* rowsWithin(): Generator<string> {
    for (const segment of gone) {
      if (left <= 0) return;
      yield statusRow(calendarHref(viewer, segment), 404);
      reached.delete(segment);
      left -= 1;
    }
    for (const member of behind) {
      const { collection, now, segment } = member;
      const isRead = isDeep && isReadable(collection);
      if (isRead) yield* changesIn(member, now);
      if (left <= 0) return;
      yield rowOf(member);
      // Where it changed while it was read, it is read up to there.
      const { position } = (isRead ? reached.get(segment) : undefined) ?? now;
      reached.set(segment, { ...now, position });
      left -= 1;
    }
    isWhole = true;
  }
  function* rows(): Generator<string> {
    yield* rowsWithin();
    // Cut short: the token says up to where, and asking with it goes on from there (RFC 6578, 3.6).
    if (!isWhole) yield statusRow(home.href, 507, dav('number-of-matches-within-limits'));
  }
  return answerStream(request, rows(), () => syncTokenElement(writeHomeToken(context.epoch, reached, isDeep)));
}

/** Whether what is in the calendars is asked for, too. @throws DavRefusal 400 */
function readLevel(root: XmlElement): boolean {
  const level = textOf(root, dav('sync-level')) ?? '1';
  if (level !== '1' && level !== 'infinite' && level !== 'infinity')
    throw new DavRefusal(400, 'The sync-level is 1 or infinite.');
  return level !== '1';
}

function isAt(position: SyncPosition, end: SyncPosition): boolean {
  return position.after === end.after && position.base === end.base;
}

/** Whether what the client knows of a calendar cannot be gone on from. */
function isExpired({ before, collection, now }: Member, isDeep: boolean): boolean {
  if (before === undefined) return false;
  if (before.identity !== now.identity || before.position.after > now.position.after) return true;
  return isDeep && isReadable(collection) && collection.contents.changesSince(before.position, 1) === 'expired';
}
