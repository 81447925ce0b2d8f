/** Calendars made here: a VCALENDAR with the definitions of the zones that it names. */
import { tzlib_get_ical_block } from 'timezones-ical-library';
import { knownZone } from '../zones/zone-resolver.ts';
import { type Component, makeComponent, makeProperty, parameterOf } from './component.ts';
import { readComponents } from './component-reader.ts';
import { writeComponent } from './component-writer.ts';

/** Who wrote it, as RFC 5545, 3.7.3 wants it in every calendar. */
export const PRODUCT_ID = '-//Parley//Calendar 1//EN';

/** The VTIMEZONE of an IANA zone under that TZID, with yearly rules from 1970 on; undefined for UTC and the unknown. */
export function zoneDefinition(tzid: string): Component | undefined {
  const name = knownZone(tzid)?.name;
  if (name === undefined || name === 'UTC') return undefined;
  const [block] = tzlib_get_ical_block(name);
  if (block === undefined || !block.startsWith('BEGIN:')) return undefined;
  const [calendar] = readComponents(`BEGIN:VCALENDAR\r\n${block}\r\nEND:VCALENDAR\r\n`);
  const definition = calendar?.components[0];
  if (definition === undefined) return undefined;
  // The library answers a link with its target, and readers look for the name that the times have.
  const properties = definition.properties.map((it) => (it.name === 'TZID' ? makeProperty('TZID', tzid) : it));
  return makeComponent('VTIMEZONE', properties, definition.components);
}

/** The TZIDs that a component's times name, its alarms included, each once. */
export function zoneNamesIn(component: Component, names: Set<string> = new Set()): Set<string> {
  for (const property of component.properties) {
    const tzid = parameterOf(property, 'TZID');
    if (tzid !== undefined) names.add(tzid);
  }
  for (const inner of component.components) zoneNamesIn(inner, names);
  return names;
}

/**
 * A VCALENDAR of those components as text. Zones that it names are defined from `definitions` where they have them,
 * and from the database otherwise; `method` makes it a scheduling message, `properties` are the calendar's own.
 */
export function writeCalendar(
  components: readonly Component[],
  options: {
    readonly method?: string;
    readonly definitions?: ReadonlyMap<string, Component>;
    readonly properties?: readonly ReturnType<typeof makeProperty>[];
  } = {},
): string {
  const names = components.reduce((all, component) => zoneNamesIn(component, all), new Set<string>());
  const zones = [...names].map((name) => options.definitions?.get(name) ?? zoneDefinition(name));
  return writeComponent(
    makeComponent(
      'VCALENDAR',
      [
        makeProperty('VERSION', '2.0'),
        makeProperty('PRODID', PRODUCT_ID),
        ...(options.method === undefined ? [] : [makeProperty('METHOD', options.method)]),
        ...(options.properties ?? []),
      ],
      [...zones.filter((zone) => zone !== undefined), ...components],
    ),
  );
}
