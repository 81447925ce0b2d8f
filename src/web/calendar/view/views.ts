/** The views, by FullCalendar's names of them; the last one is described in calendar-view.tsx. */
export const VIEWS = ['timeGridDay', 'timeGridWeek', 'dayGridMonth', 'agenda'] as const;
export type View = (typeof VIEWS)[number];

export function isView(name: unknown): name is View {
  return (VIEWS as readonly unknown[]).includes(name);
}

export const VIEW_WORDS = {
  timeGridDay: 'view.day',
  timeGridWeek: 'view.week',
  dayGridMonth: 'view.month',
  agenda: 'view.agenda',
} as const satisfies Record<View, string>;
