/** The words of the calendar, which come with whatever of it is opened first: its screen, or a reminder. */
import type { WordPart } from '../kit/language.ts';

export const CALENDAR_WORDS: WordPart = {
  namespace: 'calendar',
  en: async () => (await import('./english.ts')).CALENDAR_ENGLISH,
  ru: async () => (await import('./russian.ts')).CALENDAR_RUSSIAN,
};
