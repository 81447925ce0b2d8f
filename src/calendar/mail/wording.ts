/** The sentences of mails and RSVP pages in the languages of the server, and how each writes a time. */
import type { QueuedMailRecord } from '#storage/calendars/calendar-mails.ts';
import type { ErrorCode } from '#src/protocol/errors.ts';
import type { Language } from '#src/protocol/languages.ts';
import type { RevisedFact } from '../scheduling/revisions.ts';

/** Of an answer, as PARTSTAT. */
export type Answered = 'ACCEPTED' | 'DECLINED' | 'TENTATIVE';

export interface Wording {
  /** How dates and times are written: of `Intl`. */
  readonly locale: string;
  readonly untitled: string;
  readonly subjects: Readonly<
    Record<Exclude<QueuedMailRecord['kind'], 'REPLY'> | 'UPDATE' | Answered | 'ANSWER', string>
  >;
  /** The first line, before the title. */
  readonly leads: {
    readonly REQUEST: (name: string) => string;
    readonly UPDATE: (name: string) => string;
    readonly CANCEL: (name: string) => string;
    readonly COUNTER: (name: string) => string;
    readonly DECLINECOUNTER: (name: string) => string;
    readonly REPLY: (name: string, answer: string) => string;
    readonly REMINDER: string;
  };
  /** A delegate who writes in somebody's name. */
  readonly onBehalf: (delegate: string, name: string) => string;
  readonly calendar: string;
  readonly when: string;
  readonly where: string;
  readonly repeating: string;
  readonly changes: string;
  readonly occurrence: (when: string) => string;
  readonly nothing: string;
  readonly facts: Readonly<Record<RevisedFact['what'], string>>;
  readonly answer: string;
  readonly answerLink: string;
  readonly linkNote: string;
  readonly page: {
    readonly invitation: string;
    readonly organiser: string;
    readonly invited: string;
    readonly comment: string;
    readonly buttons: Readonly<Record<'accepted' | 'tentative' | 'declined', string>>;
    readonly said: Readonly<Record<Answered, string>>;
    /** What stands where an answer could not be taken; the catalogue's own sentence for other codes. */
    readonly refusals: Readonly<Partial<Record<ErrorCode, string>>>;
  };
}

const ENGLISH: Wording = {
  locale: 'en-GB',
  untitled: 'Untitled event',
  subjects: {
    ...{ REQUEST: 'Invitation', UPDATE: 'Updated invitation', CANCEL: 'Cancelled', REMINDER: 'Reminder' },
    ...{ COUNTER: 'Another time proposed', DECLINECOUNTER: 'Proposed time declined' },
    ...{ ACCEPTED: 'Accepted', DECLINED: 'Declined', TENTATIVE: 'Tentative', ANSWER: 'Answer' },
  },
  leads: {
    REQUEST: (name) => `${name} invites you:`,
    UPDATE: (name) => `${name} has changed what you are invited to:`,
    CANCEL: (name) => `${name} has cancelled:`,
    COUNTER: (name) => `${name} proposes this time for:`,
    DECLINECOUNTER: (name) => `${name} keeps to the time as it is and does not take this one for:`,
    REPLY: (name, answer) => `${name} has answered (${answer.toLowerCase()}):`,
    REMINDER: 'Reminder:',
  },
  onBehalf: (delegate, name) => `${delegate} on behalf of ${name}`,
  ...{ calendar: 'Calendar', when: 'When', where: 'Where', repeating: 'repeating', nothing: 'nothing' },
  changes: 'What has changed:',
  occurrence: (when) => `The occurrence of ${when}`,
  facts: {
    ...{ when: 'When', title: 'Title', location: 'Where', description: 'The notes are other ones.' },
    ...{ repetition: 'It repeats in another way.', people: 'Other people are invited.' },
    ...{ meeting: 'The link of the meeting is another one.', cancelled: 'It was cancelled.' },
    ...{ left_out: 'It does not take place.', restored: 'It takes place after all.', added: 'It is new.' },
    ...{ other: 'Details have changed.', more: 'There are more changes: see the calendar file.' },
  },
  answer: 'Answer',
  answerLink: 'Answer this invitation',
  linkNote: 'This link answers for you alone. Do not pass it on.',
  page: {
    ...{ invitation: 'Invitation', organiser: 'Organiser', invited: 'Invited', comment: 'Comment (optional)' },
    buttons: { accepted: 'Accept', tentative: 'Maybe', declined: 'Decline' },
    said: {
      ACCEPTED: 'You have accepted.',
      TENTATIVE: 'You have said that you may come.',
      DECLINED: 'You have declined.',
    },
    refusals: {},
  },
};

const RUSSIAN: Wording = {
  locale: 'ru',
  untitled: 'Событие без названия',
  subjects: {
    ...{ REQUEST: 'Приглашение', UPDATE: 'Изменённое приглашение', CANCEL: 'Отменено', REMINDER: 'Напоминание' },
    ...{ COUNTER: 'Предложено другое время', DECLINECOUNTER: 'Предложенное время отклонено' },
    ...{ ACCEPTED: 'Принято', DECLINED: 'Отклонено', TENTATIVE: 'Под вопросом', ANSWER: 'Ответ' },
  },
  leads: {
    REQUEST: (name) => `${name} приглашает вас:`,
    UPDATE: (name) => `Приглашение изменено (${name}):`,
    CANCEL: (name) => `Встреча отменена (${name}):`,
    COUNTER: (name) => `Предложено другое время (${name}):`,
    DECLINECOUNTER: (name) => `Время не меняется, предложенное отклонено (${name}):`,
    REPLY: (name, answer) => `${name}, ответ — «${answer.toLowerCase()}»:`,
    REMINDER: 'Напоминание:',
  },
  onBehalf: (delegate, name) => `${delegate} от имени: ${name}`,
  ...{ calendar: 'Календарь', when: 'Когда', where: 'Где', repeating: 'повторяется', nothing: 'пусто' },
  changes: 'Что изменилось:',
  occurrence: (when) => `Повторение ${when}`,
  facts: {
    ...{ when: 'Когда', title: 'Название', location: 'Где', description: 'Изменено описание.' },
    ...{ repetition: 'Изменён порядок повторения.', people: 'Изменён список приглашённых.' },
    ...{ meeting: 'Изменена ссылка на встречу.', cancelled: 'Отменено.' },
    ...{ left_out: 'Не состоится.', restored: 'Всё-таки состоится.', added: 'Добавлено.' },
    ...{ other: 'Изменены подробности.', more: 'Есть и другие изменения: смотрите файл календаря.' },
  },
  answer: 'Ответить',
  answerLink: 'Ответить на приглашение',
  linkNote: 'По этой ссылке отвечаете только вы. Не передавайте её никому.',
  page: {
    ...{
      invitation: 'Приглашение',
      organiser: 'Организатор',
      invited: 'Приглашён',
      comment: 'Комментарий (по желанию)',
    },
    buttons: { accepted: 'Принять', tentative: 'Возможно', declined: 'Отклонить' },
    said: {
      ACCEPTED: 'Вы приняли приглашение.',
      TENTATIVE: 'Вы ответили, что, возможно, придёте.',
      DECLINED: 'Вы отклонили приглашение.',
    },
    refusals: {
      rsvp_link_not_found: 'По этой ссылке ответить нельзя или уже нельзя.',
      field_invalid: 'Одно из полей пропущено или заполнено неверно.',
      body_too_large: 'Запрос слишком большой.',
      rate_limited: 'Слишком много запросов. Попробуйте позже.',
      busy: 'Сервер занят. Попробуйте ещё раз.',
    },
  },
};

const WORDINGS: Readonly<Record<Language, Wording>> = { en: ENGLISH, ru: RUSSIAN };

export function wordingOf(language: Language): Wording {
  return WORDINGS[language];
}
