/** One entry within its day: the time and the title, and the place where there is room. */
import type { EventDisplayInfo } from '@fullcalendar/react';
import { harmlessName } from '../../kit/harmless-text.ts';
import { currentLocale } from '../../kit/language.ts';
import { useCalendar } from '../calendar-context.ts';
import type { Occurrence } from '../state/occurrence.ts';
import { clockWords, spanWords, type Span } from '../time.ts';

/** Less than this has one line. */
const LONG_MILLIS = 45 * 60_000;

/** Room for many lines, for one of a day's lane or of a day of the month, or for one as wide as the agenda. */
function linesOf(view: string, isLong: boolean): 'many' | 'one' | 'month' | 'agenda' {
  if (view === 'agenda') return 'agenda';
  if (view.startsWith('dayGrid')) return 'month';
  return isLong ? 'many' : 'one';
}

export function EventWords({ event, timeText, view }: EventDisplayInfo) {
  const { list, zone } = useCalendar();
  // What is drawn while it is chosen is no entry yet.
  const occurrence = (event.extendedProps['occurrence'] ?? { all_day: event.allDay }) as Partial<Occurrence> & Span;
  const { location } = occurrence;
  const of = list.byId(occurrence.calendar_id ?? '');
  const millis = (event.end?.getTime() ?? 0) - (event.start?.getTime() ?? 0);
  const isGrid = view.type.startsWith('timeGrid') && !event.allDay;
  const isLong = isGrid && millis >= LONG_MILLIS;
  const isListed = view.type === 'agenda';
  const start = occurrence.start_at;
  // One line has room for the beginning alone; one of the agenda is as wide as the page.
  const time =
    isLong || isListed || timeText === '' || start === undefined ? timeText : clockWords(start, currentLocale(), zone);
  // A screen reader says what a glance tells: the day, and in which calendar it is.
  const heard = [spanWords(occurrence, currentLocale(), zone), harmlessName(of?.displayname ?? '', '')].join(', ');
  return (
    <span className="parley-event-words" data-lines={linesOf(view.type, isLong)}>
      <bdi className="parley-event-title">{event.title}</bdi>
      <span className="parley-unseen">{heard}</span>
      {time !== '' && <span className="parley-event-time">{time}</span>}
      {(isLong || isListed) && location !== undefined && (
        <bdi className="parley-event-place">{harmlessName(location, '')}</bdi>
      )}
    </span>
  );
}
