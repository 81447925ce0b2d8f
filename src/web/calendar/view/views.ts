/** The views, by FullCalendar's names of them. */
export const VIEWS = ['timeGridDay', 'timeGridWeek', 'dayGridMonth', 'listWeek'] as const;
export type View = (typeof VIEWS)[number];

export function isView(name: unknown): name is View {
  return (VIEWS as readonly unknown[]).includes(name);
}

export const VIEW_WORDS = {
  timeGridDay: 'view.day',
  timeGridWeek: 'view.week',
  dayGridMonth: 'view.month',
  listWeek: 'view.agenda',
} as const satisfies Record<View, string>;
