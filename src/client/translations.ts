/** What people read instead of an error code. A code without a sentence here fails the type check (ERR-03). */
import { ERROR_CODES, ERRORS, type ErrorCode } from '#src/protocol/errors.ts';
import { CLIENT_ERRORS, type ClientErrorCode } from './parley-error.ts';

export const LANGUAGES = ['en', 'ru'] as const;
export type Language = (typeof LANGUAGES)[number];

type Sentences = Readonly<Record<ErrorCode | ClientErrorCode, string>>;

/** English is the catalogue's own wording, which stays for ever. */
const ENGLISH = {
  ...Object.fromEntries(ERROR_CODES.map((code) => [code, ERRORS[code].error])),
  ...CLIENT_ERRORS,
} as Sentences;

const RUSSIAN: Sentences = {
  body_invalid_json: 'Тело запроса не является корректным JSON.',
  body_invalid_utf8: 'Тело запроса не является корректным текстом UTF-8.',
  body_not_json: 'Тело запроса должно передаваться как application/json.',
  body_too_large: 'Запрос слишком большой.',
  cursor_invalid: 'Этот указатель страницы выдан не этим сервером.',
  device_required: 'В запросе не указано устройство.',
  field_invalid: 'Одно из полей пропущено или заполнено неверно.',
  field_unknown: 'В запросе есть поле, которого сервер не ожидает.',
  frame_invalid: 'Такой кадр клиент отправлять не может.',
  frame_too_large: 'Кадр больше допустимого размера.',
  message_kind_unknown: 'Неизвестный вид сообщения.',
  participant_unknown: 'Одного из указанных людей добавить нельзя.',
  query_invalid: 'Параметр запроса неизвестен или задан неверно.',
  request_malformed: 'Запрос не удалось разобрать.',
  signal_kind_unknown: 'Неизвестное семейство сигналов.',
  signal_step_unknown: 'В этом семействе сигналов нет такого шага.',
  socket_upgrade_required: 'Этот адрес только для соединений WebSocket.',

  login_failed: 'Неверное имя пользователя или пароль.',
  session_over: 'Сеанс завершён. Войдите снова.',
  session_revoked: 'Сеанс отозван. Войдите снова.',
  token_expired: 'Срок действия входа истёк, его нужно продлить.',
  token_invalid: 'Вход здесь недействителен.',
  token_missing: 'Сначала нужно войти.',

  conversation_forbidden: 'Такой беседы для вас нет.',
  device_forbidden: 'Этот сеанс принадлежит другому устройству.',
  origin_forbidden: 'Страницам с этого адреса подключаться нельзя.',
  recipient_forbidden: 'Такого адресата для вас нет.',
  right_missing: 'Здесь у вас нет права на это действие.',
  system_kind_forbidden: 'Системные сообщения пишет только сервер.',

  draft_not_found: 'Черновика здесь нет.',
  message_not_found: 'Такого сообщения нет.',
  method_not_found: 'По этому адресу такое действие недоступно.',
  participant_not_found: 'Такого участника нет.',
  path_not_found: 'Такого адреса нет.',

  call_already_joined: 'К этому звонку уже присоединились.',
  conversation_full: 'В беседе уже наибольшее допустимое число участников.',
  message_deleted: 'Сообщение удалено.',
  owner_required: 'В беседе должен оставаться хотя бы один владелец.',
  participants_fixed: 'Состав участников этой беседы не меняется.',
  pins_full: 'В беседе уже наибольшее допустимое число закреплённых сообщений.',
  reactions_full: 'У сообщения уже наибольшее допустимое число разных реакций.',
  receipt_beyond_head: 'Отметка относится к сообщению, которого ещё нет.',
  signal_out_of_order: 'Более поздний шаг этого звонка уже доставлен.',
  username_taken: 'Это имя пользователя уже занято.',

  call_step_is_signalling: 'Шаги звонка — не сообщения: отправляйте их через POST /v1/signal.',
  client_too_old: 'Эта версия приложения больше не поддерживается. Установите новую.',
  invitation_used: 'Приглашение уже использовано или истекло. Попросите новое.',

  rate_limited: 'Слишком много запросов. Подождите и попробуйте снова.',

  busy: 'Сервер занят. Попробуйте чуть позже.',
  internal: 'На сервере произошла ошибка.',
  storage_full: 'Сервер сейчас не может ничего сохранить.',
  unavailable: 'Эта часть сервера перезапускается. Попробуйте чуть позже.',

  answer_unreadable: 'Не удалось разобрать ответ сервера.',
  client_closed: 'Приложение закрыло соединение.',
  connection_refused: 'Сервер окончательно закрыл соединение.',
  deadline_exceeded: 'Сервер не ответил вовремя.',
  network_failed: 'Не удалось связаться с сервером.',
  outbox_full: 'Слишком много сообщений ждёт отправки.',
};

export const TRANSLATIONS: Readonly<Record<Language, Sentences>> = { en: ENGLISH, ru: RUSSIAN };

/**
 * The sentence for an error, in a language. A code that came later than this client reads as the sentence the server
 * sent along, which is what that sentence is for.
 */
export function translate(error: { readonly code: string; readonly message: string }, language: Language): string {
  const sentences: Readonly<Record<string, string>> = TRANSLATIONS[language];
  return Object.hasOwn(sentences, error.code) ? (sentences[error.code] as string) : error.message;
}
