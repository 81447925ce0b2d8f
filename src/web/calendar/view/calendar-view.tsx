/** The days of the chosen view, by FullCalendar: what is in them is opened, moved and lengthened there, and made by dragging. */
import FullCalendar, {
  type CalendarController,
  type CalendarOptions,
  type DayHeaderInfo,
  type EventApi,
  type EventInput,
} from '@fullcalendar/react';
import dayGridPlugin from '@fullcalendar/react/daygrid';
import interactionPlugin from '@fullcalendar/react/interaction';
import listPlugin from '@fullcalendar/react/list';
import '@fullcalendar/react/skeleton.css';
import themePlugin from '@fullcalendar/react/themes/classic';
import '@fullcalendar/react/themes/classic/theme.css';
import timeGridPlugin from '@fullcalendar/react/timegrid';
import { type ReactElement, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { keep, readKept } from '../../kit/kept-values.ts';
import { useBreakpoint } from '../../kit/breakpoint.ts';
import { harmlessName } from '../../kit/harmless-text.ts';
import { currentLocale, type CalendarWords } from '../../kit/language.ts';
import { useObserved } from '../../kit/observable.ts';
import { useCalendar, type CalendarContextValue } from '../calendar-context.ts';
import { newForm } from '../entry/entry-form.ts';
import { ScopeQuestion } from '../entry/scope-question.tsx';
import { colorOf, inkOn, mayWrite } from '../state/calendar-list.ts';
import { keyOf, type Occurrence } from '../state/occurrence.ts';
import { addDays, addMinutes, firstDayOf, wallOf } from '../time.ts';
import { CalendarToolbar } from './calendar-toolbar.tsx';
import { EventWords } from './event-words.tsx';
import { useMoves } from './moves.ts';
import { isView, type View } from './views.ts';

const PLUGINS = [dayGridPlugin, timeGridPlugin, listPlugin, interactionPlugin, themePlugin];
const KEPT_VIEW = 'parley.calendar.view';
/** The hour that a day is shown from, at first: earlier ones are above it. */
const FIRST_HOUR = '07:00:00';
/** When something begins on a day of which no hour was chosen. */
const MORNING = '09:00';
/** What is ahead, from the day that one is at: a week ends on a Sunday evening with nothing to see. */
const AGENDA_DAYS = 30;

export interface CalendarViewProps {
  readonly controller: CalendarController;
  readonly onSide: () => void;
  /** Whether something stands over the days, which has the keys then. */
  readonly isCovered: boolean;
}

export function CalendarView({ controller, onSide, isCovered }: CalendarViewProps) {
  const { t } = useTranslation('calendar');
  const calendar = useCalendar();
  const [view, setView] = useKeptView();
  const [isDragging, setIsDragging] = useState(false);
  const events = useEvents(calendar, t);
  const { asked, answer, move } = useMoves(calendar, t);
  const [title, setTitle] = useState('');
  const locale = currentLocale();
  const choose = (next: View) => {
    setView(next);
    controller.changeView(next);
  };
  const days = (
    <FullCalendar
      controller={controller}
      plugins={PLUGINS}
      initialView={view}
      events={events}
      timeZone={calendar.zone}
      locale={locale}
      firstDay={firstDayOf(locale)}
      {...settingsOf(t)}
      datesSet={({ start, end, view: shown }) => {
        setTitle(shown.title);
        calendar.occurrences.show(start, end);
      }}
      eventContent={(info) => <EventWords {...info} />}
      eventClick={({ event, jsEvent }) => {
        jsEvent.preventDefault();
        calendar.open({ kind: 'details', place: occurrenceOf(event) });
      }}
      select={({ allDay, endStr, startStr }) => {
        const chosen = calendar.list.preferred;
        if (chosen === undefined) return;
        const [start, end] = allDay
          ? [`${startStr.slice(0, 10)}T09:00`, `${addDays(endStr.slice(0, 10), -1)}T10:00`]
          : [startStr.slice(0, 16), endStr.slice(0, 16)];
        const span = { start, end, isAllDay: allDay, zone: calendar.zone };
        calendar.open({ kind: 'form', form: newForm({ calendar: chosen.id, ...span }) });
      }}
      eventDragStart={() => setIsDragging(true)}
      eventDragStop={() => setIsDragging(false)}
      eventResizeStart={() => setIsDragging(true)}
      eventResizeStop={() => setIsDragging(false)}
      eventDrop={move}
      eventResize={move}
    />
  );
  return (
    <>
      <CalendarToolbar
        {...{ controller, title, view, onSide, isCovered }}
        onView={choose}
        onNew={() => create(calendar, controller.getDate() ?? new Date())}
      />
      <div className="parley-days" data-view={view}>
        {useHeld(days, isDragging)}
      </div>
      {asked !== undefined && (
        <ScopeQuestion title={t('scope.change')} scopes={asked.scopes} isMove onAnswer={answer} />
      )}
    </>
  );
}

function settingsOf(t: CalendarWords): CalendarOptions {
  return {
    headerToolbar: false,
    height: '100%',
    borderless: true,
    nowIndicator: true,
    views: {
      agenda: {
        type: 'list',
        duration: { days: AGENDA_DAYS },
        // The days have to have room beside the buttons.
        titleFormat: { day: 'numeric', month: 'short', year: 'numeric' },
      },
    },
    dayHeaderContent: (day) => <DayHead {...day} />,
    editable: true,
    selectable: true,
    selectMirror: true,
    eventInteractive: true,
    dayMaxEvents: true,
    scrollTime: FIRST_HOUR,
    eventMinHeight: 20,
    allDayText: t('view.allDay'),
    // The hours are scrolled by keys, too, on days that have nothing to go to (WCAG 2.1.1).
    dayLaneDidMount: ({ el }) => void (el.tabIndex = 0),
    moreLinkText: (count) => t('view.more', { count }),
    noEventsText: t('view.nothing'),
    closeHint: t('close'),
  };
}

/** On a phone the days of a week have a letter's room, for which FullCalendar writes the weekday alone: which day is it? */
function DayHead({ dayNumberText, isNarrow, text, weekdayText }: DayHeaderInfo) {
  if (!isNarrow || dayNumberText === '' || text !== weekdayText) return text;
  return (
    <span className="parley-day-head">
      <span>{weekdayText}</span> <b>{dayNumberText}</b>
    </span>
  );
}

/** A phone has room for a list, and for one day. */
function useKeptView(): [View, (view: View) => void] {
  const isNarrow = useBreakpoint() === 'narrow';
  const [view, setView] = useState<View>(() => {
    const kept = readKept(KEPT_VIEW);
    return isView(kept) ? kept : isNarrow ? 'agenda' : 'timeGridWeek';
  });
  return [
    view,
    (next) => {
      keep(KEPT_VIEW, next);
      setView(next);
    },
  ];
}

/**
 * A new entry: on the day that is today at the next full hour, which late in the evening is tomorrow's first, and on another that is
 * looked at in the morning.
 */
function create({ list, open, zone }: CalendarContextValue, date: Date): void {
  const chosen = list.preferred;
  if (chosen === undefined) return;
  const now = wallOf(new Date().toISOString(), zone);
  const day = wallOf(date.toISOString(), zone).slice(0, 10);
  const start = day === now.slice(0, 10) ? addMinutes(`${now.slice(0, 13)}:00`, 60) : `${day}T${MORNING}`;
  open({ kind: 'form', form: newForm({ calendar: chosen.id, start, zone }) });
}

export function occurrenceOf(event: EventApi): Occurrence {
  return event.extendedProps['occurrence'] as Occurrence;
}

/**
 * What is drawn, and while it is held, what was drawn when that began: days that are drawn anew under a hand that drags an event take
 * it out of the hand, and nothing is told of where it was left.
 */
function useHeld(drawn: ReactElement, isHeld: boolean): ReactElement {
  const held = useRef(drawn);
  if (!isHeld) held.current = drawn;
  return held.current;
}

function useEvents(calendar: CalendarContextValue, t: CalendarWords): EventInput[] {
  const { list, occurrences } = calendar;
  const items = useObserved(occurrences, () => occurrences.items);
  const shown = useObserved(list, () => list.shown);
  const waiting = useObserved(calendar.invitations, () => calendar.invitations.items);
  return useMemo(() => {
    const calendars = new Map(shown.map((one) => [one.id, one]));
    const unanswered = new Set(waiting.map(({ calendar_id: id, entry }) => `${id}/${entry.id}`));
    return items.flatMap((occurrence) => {
      const of = calendars.get(occurrence.calendar_id);
      if (of === undefined) return [];
      const color = colorOf(of);
      const isWaiting = unanswered.has(`${occurrence.calendar_id}/${occurrence.entry_id}`);
      const isBusyAlone = of.access === 'free_busy';
      const title = harmlessName(occurrence.title, isBusyAlone ? t('busy') : t('untitled'));
      return {
        id: keyOf(occurrence),
        title,
        ...whenOf(occurrence),
        color,
        contrastColor: inkOn(color),
        editable: mayWrite(of),
        interactive: !isBusyAlone,
        className: [
          'parley-event',
          isWaiting ? 'parley-event-waiting' : '',
          occurrence.status === 'cancelled' ? 'parley-event-cancelled' : '',
        ].join(' '),
        extendedProps: { occurrence },
      };
    });
  }, [items, shown, waiting, t]);
}

function whenOf({ all_day: allDay, date, days, end_at: end, start_at: start }: Occurrence): EventInput {
  if (allDay && date !== undefined) return { allDay: true, start: date, end: addDays(date, days ?? 1) };
  return { allDay: false, start: start ?? '', end: end ?? start ?? '' };
}
