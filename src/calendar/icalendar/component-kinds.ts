/** The components that describe something: what iCalendar calls them, and what they are called here. */
import type { ComponentKind } from './calendar-object.ts';

export const COMPONENT_NAMES = {
  event: 'VEVENT',
  todo: 'VTODO',
  journal: 'VJOURNAL',
} as const satisfies Readonly<Record<ComponentKind, string>>;

const KINDS: ReadonlyMap<string, ComponentKind> = new Map(
  Object.entries(COMPONENT_NAMES).map(([kind, name]) => [name, kind as ComponentKind]),
);

/** The kind of a component by its name in upper case; undefined for zones, alarms and what is not kept. */
export function kindOf(name: string): ComponentKind | undefined {
  return KINDS.get(name);
}
