/** What notifications say where the message does not. Both languages come with the worker: it has no page to load more by. */
import type { Language } from '#src/protocol/languages.ts';

export const NOTICES_ENGLISH = {
  'notice.message': 'New message',
  'notice.call': '{{name}} is calling',
  'notice.video': '{{name}} is calling with video',
  'notice.callOver': 'The call is over',
  'notice.reminder': 'Reminder',
  'notice.reminderLate': 'Reminder, late',
  'notice.invitation': 'You are invited to a room',
  'notice.room': 'Room without a name',
  'notice.file': 'File: {{name}}',
  'notice.location': 'A place',
  'notice.contact': 'A contact',
  'notice.other': 'Something new in Parley',
} as const;

export const NOTICES_RUSSIAN: Readonly<Record<keyof typeof NOTICES_ENGLISH, string>> = {
  'notice.message': 'Новое сообщение',
  'notice.call': 'Звонит {{name}}',
  'notice.video': 'Видеозвонок: {{name}}',
  'notice.callOver': 'Звонок завершён',
  'notice.reminder': 'Напоминание',
  'notice.reminderLate': 'Напоминание с опозданием',
  'notice.invitation': 'Вас приглашают в комнату',
  'notice.room': 'Комната без названия',
  'notice.file': 'Файл: {{name}}',
  'notice.location': 'Место на карте',
  'notice.contact': 'Контакт',
  'notice.other': 'В Parley что-то новое',
};

const WORDS = { en: NOTICES_ENGLISH, ru: NOTICES_RUSSIAN } satisfies Readonly<Record<Language, unknown>>;

export type NoticeWords = (key: keyof typeof NOTICES_ENGLISH, name?: string) => string;

export function wordsIn(language: Language): NoticeWords {
  return (key, name = '') => WORDS[language][key].replace('{{name}}', name);
}
