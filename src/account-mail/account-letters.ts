/** What mails about accounts say, in the languages of the server. */
import type { Language } from '#src/protocol/languages.ts';

/** What a mail has to tell. */
export type Letter =
  /** A code for the field in the settings. */
  | { readonly kind: 'code'; readonly code: string; readonly minutes: number }
  /** A link that sets a password. */
  | { readonly kind: 'reset'; readonly user: string; readonly url: string; readonly minutes: number };

export interface Words {
  readonly subject: string;
  readonly text: string;
}

type Wording = { readonly [Kind in Letter['kind']]: (letter: Extract<Letter, { kind: Kind }>) => Words };

const WORDINGS: Readonly<Record<Language, Wording>> = {
  en: {
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
  return letter.kind === 'code' ? wording.code(letter) : wording.reset(letter);
}

function lines(...paragraphs: string[]): string {
  return `${paragraphs.join('\n\n')}\n`;
}
