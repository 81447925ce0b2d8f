/** What mails about accounts say, in the languages of the server. */
import type { SecurityNotice } from '#src/protocol/account/security-notices.ts';
import type { Language } from '#src/protocol/languages.ts';

/** A notice as mails tell it. Whoever confirmed an address has just read a mail there. */
export interface MailedNotice extends Pick<SecurityNotice, 'at' | 'by'> {
  readonly kind: Exclude<SecurityNotice['kind'], 'email_confirmed'>;
}

/** What a mail has to tell. */
export type Letter =
  /** A code for the field in the settings. */
  | { readonly kind: 'code'; readonly code: string; readonly minutes: number }
  /** Something that signs the person in changed; `url` is where they look what. */
  | {
      readonly kind: 'notice';
      readonly user: string;
      readonly url: string;
      readonly told: MailedNotice;
    }
  /** A link that sets a password. */
  | { readonly kind: 'reset'; readonly user: string; readonly url: string; readonly minutes: number };

export interface Words {
  readonly subject: string;
  readonly text: string;
}

type Wording = {
  readonly [Kind in Letter['kind']]: (letter: Extract<Letter, { kind: Kind }>) => Words;
} & {
  readonly happened: Readonly<Record<MailedNotice['kind'], string>>;
  readonly by: Readonly<Record<SecurityNotice['by'], string>>;
};

const WORDINGS: Readonly<Record<Language, Wording>> = {
  en: {
    happened: {
      factor_added: 'A second factor or passkey was added',
      factor_removed: 'A second factor or passkey was removed',
      account_bound: 'An account at a provider signs in as you from now on',
      passkey_copied: 'A passkey was refused that may have been copied',
      password_changed: 'Your password was changed',
      password_link_made: 'A link was made that sets your password',
      recovery_codes_made: 'New recovery codes were made',
    },
    by: {
      administrator: 'by an administrator',
      host: 'on the host of the server',
      server: 'by the server',
      you: 'with your account',
    },
    notice: ({ told, url, user }) => ({
      subject: WORDINGS.en.happened[told.kind],
      text: lines(
        `${WORDINGS.en.happened[told.kind]} (${user}), ${WORDINGS.en.by[told.by]}, at ${told.at}.`,
        `If it was not you, or you do not know why, look at your devices in the settings and tell an administrator: ${url}`,
      ),
    }),
    code: ({ code, minutes }) => ({
      subject: 'Confirm your e-mail address',
      text: lines(
        'Type this code into the settings of Parley, where you asked for it:',
        `    ${code}`,
        `It works for ${minutes} minutes. If you did not ask for it, do nothing: this address is confirmed for nobody then.`,
      ),
    }),
    reset: ({ minutes, url, user }) => ({
      subject: 'Choose a new password',
      text: lines(
        `Somebody asked for a new password for your account ${user}. Choose one here:`,
        url,
        `The link works once, for ${minutes} minutes. With the new password every device of yours is signed out.`,
        'If it was not you, do nothing: your password stays as it is.',
      ),
    }),
  },
  ru: {
    happened: {
      factor_added: 'Добавлен второй фактор или ключ доступа',
      factor_removed: 'Удалён второй фактор или ключ доступа',
      account_bound: 'Учётная запись у провайдера теперь открывает вашу учётную запись',
      passkey_copied: 'Отклонён ключ доступа, который могли скопировать',
      password_changed: 'Ваш пароль изменён',
      password_link_made: 'Создана ссылка для смены вашего пароля',
      recovery_codes_made: 'Созданы новые резервные коды',
    },
    by: {
      administrator: 'администратором',
      host: 'на самом сервере',
      server: 'сервером',
      you: 'из вашей учётной записи',
    },
    notice: ({ told, url, user }) => ({
      subject: WORDINGS.ru.happened[told.kind],
      text: lines(
        `${WORDINGS.ru.happened[told.kind]} (${user}), ${WORDINGS.ru.by[told.by]}, ${told.at}.`,
        `Если это были не вы или вы не знаете причины, проверьте устройства в настройках и сообщите администратору: ${url}`,
      ),
    }),
    code: ({ code, minutes }) => ({
      subject: 'Подтвердите адрес почты',
      text: lines(
        'Введите этот код в настройках Parley, там же, где вы его запросили:',
        `    ${code}`,
        `Код действует ${minutes} мин. Если вы его не запрашивали, ничего не делайте: адрес останется неподтверждённым.`,
      ),
    }),
    reset: ({ minutes, url, user }) => ({
      subject: 'Выберите новый пароль',
      text: lines(
        `Для вашей учётной записи ${user} запрошен новый пароль. Задайте его здесь:`,
        url,
        `Ссылка срабатывает один раз и действует ${minutes} мин. С новым паролем завершатся сеансы на всех ваших устройствах.`,
        'Если это были не вы, ничего не делайте: пароль останется прежним.',
      ),
    }),
  },
};

/** The words of a letter, in its reader's language. */
export function wordsOf(letter: Letter, language: Language): Words {
  const wording = WORDINGS[language];
  switch (letter.kind) {
    case 'code':
      return wording.code(letter);
    case 'notice':
      return wording.notice(letter);
    case 'reset':
      return wording.reset(letter);
    default:
      return letter satisfies never;
  }
}

function lines(...paragraphs: string[]): string {
  return `${paragraphs.join('\n\n')}\n`;
}
