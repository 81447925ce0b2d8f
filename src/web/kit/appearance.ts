/** How the app looks in this browser, beside the colour scheme, which Mantine keeps: contrast, density, and the size of its text. */
import { breakpoint } from './breakpoint.ts';
import { keep, readKept } from './kept-values.ts';
import { Observable } from './observable.ts';

/** It stays when somebody signs out: it says nothing of them, and who cannot read small letters has to sign in. */
export const APPEARANCE_KEY = 'parley.appearance';
const MORE_CONTRAST = '(prefers-contrast: more)';

/** What there is to choose from, the usual of each first; percentages are of the text size that the browser is set to. */
export const APPEARANCES = {
  contrast: ['auto', 'standard', 'more'],
  density: ['comfortable', 'compact'],
  text: ['100', '90', '110', '125', '150'],
} as const;

export type Appearance = { readonly [Name in keyof typeof APPEARANCES]: (typeof APPEARANCES)[Name][number] };

/** What is kept, and the usual for whatever of it is none of the choices: another version of the app may have written it. */
function keptAppearance(): Appearance {
  const kept = readKept(APPEARANCE_KEY);
  const fields = (typeof kept === 'object' ? kept : undefined) as Partial<Record<string, unknown>> | undefined;
  const chosen = Object.entries(APPEARANCES).map(([name, choices]) => {
    const isThere = (choices as readonly unknown[]).includes(fields?.[name]);
    return [name, isThere ? fields?.[name] : choices[0]];
  });
  return Object.fromEntries(chosen) as Appearance;
}

class AppearanceStore extends Observable {
  #now = keptAppearance();

  get now(): Appearance {
    return this.#now;
  }

  /** Has the page look as it is kept, before anything of it is drawn, and follows the system and the other tabs. */
  start(): void {
    this.#take(this.#now);
    breakpoint.start();
    matchMedia(MORE_CONTRAST).addEventListener('change', () => this.#take(this.#now));
    addEventListener('storage', ({ key }) => {
      // A key of null: all that the browser kept of the site was removed.
      if (key === APPEARANCE_KEY || key === null) this.#take(keptAppearance());
    });
  }

  /** Takes a choice from now on. It holds for the visit also where the browser has no room to keep it. */
  choose(choice: Partial<Appearance>): void {
    this.#take({ ...this.#now, ...choice });
    keep(APPEARANCE_KEY, this.#now);
  }

  #take(appearance: Appearance): void {
    this.#now = appearance;
    const { contrast, density, text } = appearance;
    const isMore = contrast === 'more' || (contrast === 'auto' && matchMedia(MORE_CONTRAST).matches);
    const { dataset } = document.documentElement;
    dataset['contrast'] = isMore ? 'more' : 'standard';
    dataset['density'] = density;
    dataset['text'] = text;
    breakpoint.look();
    this.changed();
  }
}

/** Of this page. */
export const appearance = new AppearanceStore();
