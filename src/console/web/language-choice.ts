/** The choice of the console's language. */
import { LANGUAGES, type Language } from '#src/client/translations.ts';
import { element } from './elements.ts';
import { currentLanguage, LANGUAGE_NAMES, t } from './language.ts';

export function languageChoice(speak: (language: Language) => void): HTMLElement {
  const options = LANGUAGES.map((each) =>
    element('option', { value: each, lang: each, selected: each === currentLanguage() }, LANGUAGE_NAMES[each]),
  );
  const control = element('select', { 'aria-label': t('shell.language') }, options);
  control.addEventListener('change', () => speak(control.value as Language));
  return control;
}
