/** Reminders in words. */
import type { CalendarWords } from '../../kit/language.ts';
import type { Entry } from './entry-form.ts';

export function minutesWords(minutes: number, t: CalendarWords): string {
  if (minutes === 0) return t('reminder.at');
  if (minutes % 1_440 === 0) return t('reminder.days', { count: minutes / 1_440 });
  if (minutes % 60 === 0) return t('reminder.hours', { count: minutes / 60 });
  return t('reminder.minutes', { count: minutes });
}

/** Those that are some time before the start. */
export function reminderWords(reminders: Entry['reminders'], t: CalendarWords): string[] {
  return reminders.flatMap(({ offset_seconds: seconds, related }) =>
    seconds === undefined || seconds > 0 || related === 'end' ? [] : [minutesWords(Math.round(-seconds / 60), t)],
  );
}
