/** The choice of the console's language, which is the app's on this device, too. */
import { NativeSelect } from '@mantine/core';
import { LANGUAGES, type Language } from '#src/client/translations.ts';
import { chooseLanguage, currentLanguage } from '../../kit/language.ts';
import { t } from '../words/words.ts';

/** Languages by their own names. */
const NAMES: Readonly<Record<Language, string>> = { en: 'English', ru: 'Русский' };

export function LanguageSelect() {
  return (
    <NativeSelect
      aria-label={t('shell.language')}
      size="xs"
      value={currentLanguage()}
      data={LANGUAGES.map((value) => ({ value, label: NAMES[value] }))}
      onChange={(event) => void chooseLanguage(event.currentTarget.value as Language)}
    />
  );
}
