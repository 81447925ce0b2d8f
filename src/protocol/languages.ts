/** The languages in which people read words of the server's own: its clients, its console, its mails. */
export const LANGUAGES = ['en', 'ru'] as const;
export type Language = (typeof LANGUAGES)[number];

/** The one that a language tag (BCP 47) asks for; undefined for a language in which nothing is written, and for no tag. */
export function languageOf(tag: string | null | undefined): Language | undefined {
  const primary = tag?.toLowerCase().split('-')[0];
  return LANGUAGES.find((language) => language === primary);
}
