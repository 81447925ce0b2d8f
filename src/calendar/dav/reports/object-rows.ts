/** Rows of objects in the answers of reports: properties, and calendar data in the form that was asked for. */
import { CalendarFault } from '../../icalendar/calendar-fault.ts';
import { isWhole, readCalendarDataRequest, writeCalendarData, type CalendarDataRequest } from '../calendar-data.ts';
import { propertyRow, propstat, responseRow, statusRow } from '../xml/multistatus.ts';
import { readAsked, groupsOf, type PropertyRequest } from '../properties/propfind.ts';
import type { Asking } from '../properties/properties.ts';
import type { ObjectResource } from '../resources.ts';
import { caldav, dav, type XmlName } from '../xml/xml-names.ts';
import { childOf, type XmlElement } from '../xml/xml-reader.ts';
import { element, escapeText } from '../xml/xml-writer.ts';

const CALENDAR_DATA = caldav('calendar-data');

/** What a report asks of each object. */
export interface ObjectRequest {
  readonly asked: PropertyRequest;
  readonly data: CalendarDataRequest | undefined;
  /** Where whole days and floating times are; the calendar's zone where it is left open. */
  readonly zone?: string;
}

/** Reads what a report's body asks of each object; etags where it names nothing. @throws DavRefusal */
export function readObjectRequest(root: XmlElement): ObjectRequest {
  const asked = readAsked(root) ?? { kind: 'some', names: [dav('getetag')] };
  const props = childOf(root, dav('prop'));
  const data = props === undefined ? undefined : childOf(props, CALENDAR_DATA);
  const names = asked.kind === 'some' ? asked.names.filter((name) => name !== CALENDAR_DATA) : [];
  return {
    asked: asked.kind === 'some' ? { kind: 'some', names } : asked,
    data: data === undefined ? undefined : readCalendarDataRequest(data),
  };
}

/** The row of one object. */
export function objectRow(resource: ObjectResource, request: ObjectRequest, asking: Asking, isBrief: boolean): string {
  const groups = groupsOf(resource, request.asked, asking);
  if (request.data === undefined) return propertyRow(resource.href, groups, isBrief);
  try {
    const text = dataOf(resource, request.data, request.zone);
    if (text === undefined) return statusRow(resource.href, 404);
    return propertyRow(
      resource.href,
      { ...groups, found: groups.found + element(CALENDAR_DATA, escapeText(text)) },
      isBrief,
    );
  } catch (error) {
    if (!(error instanceof CalendarFault)) throw error;
    // One object that cannot be shown in this form takes nothing from the others.
    const refused = propstat(element(CALENDAR_DATA), 403, conditionOf(error));
    return responseRow(resource.href, propstat(groups.found, 200) + refused);
  }
}

/** The precondition that a fault of calendar data names. */
export function conditionOf({ precondition }: CalendarFault): XmlName {
  return caldav(precondition);
}

function dataOf(
  { collection, object }: ObjectResource,
  data: CalendarDataRequest,
  zone: string | undefined,
): string | undefined {
  const { calendar, contents } = collection;
  if (isWhole(data)) return contents.bytesOf(object)?.toString('utf8');
  const stored = contents.read(object);
  return stored === undefined ? undefined : writeCalendarData(stored, data, zone ?? calendar.zone);
}
