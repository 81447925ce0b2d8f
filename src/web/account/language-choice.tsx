/** Which language the app speaks: each one names itself. */
import { Group, UnstyledButton } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { LANGUAGES, type Language } from '#src/client/translations.ts';
import { chooseLanguage, currentLanguage } from '../kit/language.ts';

const NAMES: Readonly<Record<Language, string>> = { en: 'English', ru: 'Русский' };

export function LanguageChoice() {
  const { t } = useTranslation();
  const now = currentLanguage();
  return (
    <Group component="section" justify="center" gap="lg" aria-label={t('settings.language')}>
      {LANGUAGES.map((language) => (
        <UnstyledButton
          key={language}
          lang={language}
          fz="sm"
          fw={language === now ? 600 : 400}
          td={language === now ? undefined : 'underline'}
          aria-pressed={language === now}
          onClick={() => void chooseLanguage(language)}
        >
          {NAMES[language]}
        </UnstyledButton>
      ))}
    </Group>
  );
}
