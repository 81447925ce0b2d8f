/** The words of meetings, which come with whatever of them is opened first. */
import type { WordPart } from '../kit/language.ts';

export const MEETING_WORDS: WordPart = {
  namespace: 'translation',
  en: async () => (await import('./english.ts')).MEETINGS_ENGLISH,
  ru: async () => (await import('./russian.ts')).MEETINGS_RUSSIAN,
};
