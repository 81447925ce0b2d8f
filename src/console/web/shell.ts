/** The frame around every screen: who is signed in, the menu of what they may see, and the place for the screen. */
import type { Language } from '#src/client/translations.ts';
import { element, fill, link, workButton, type Child } from './elements.ts';
import { languageChoice } from './language-choice.ts';
import { currentLanguage, t, word } from './language.ts';
import type { Notices } from './notices.ts';
import { SCREENS } from './screen-list.ts';
import { isOpenTo, SECTIONS, type Me, type Screen } from './screen-context.ts';

export interface ShellOptions {
  readonly me: Me;
  readonly notices: Notices;
  readonly signOut: () => Promise<void>;
  readonly speak: (language: Language) => void;
}

export class Shell {
  readonly element: HTMLElement;
  readonly notices: Notices;
  readonly #links = new Map<Screen, HTMLAnchorElement>();
  readonly #heading = element('h1', { tabindex: '-1' });
  readonly #body = element('div', { class: 'screen' });
  #isFirst = true;

  constructor({ me, notices, signOut, speak }: ShellOptions) {
    this.notices = notices;
    const main = element('main', { id: 'main' }, this.#heading, notices.element, this.#body);
    const skip = element('a', { class: 'skip', href: '#/' }, t('shell.skip'));
    // The address is where somebody is in the console, so skipping moves the focus and leaves the address alone.
    skip.addEventListener('click', (event) => {
      event.preventDefault();
      this.#heading.focus();
    });
    this.element = element(
      'div',
      { class: 'shell' },
      skip,
      element(
        'header',
        {},
        element('strong', { class: 'brand' }, t('shell.title')),
        element('span', { class: 'who' }, `${me.name} · ${word('role', me.role)}`),
        languageChoice(speak),
        workButton('shell.sign-out', notices, signOut),
      ),
      me.kind === 'vendor' && element('p', { class: 'banner' }, t('shell.depersonalised')),
      me.kind === 'break_glass' && element('p', { class: 'banner' }, t('shell.break-glass')),
      this.#menu(me),
      main,
    );
    document.documentElement.lang = currentLanguage();
  }

  /** Shows a screen. The focus goes to its heading, so that a screen reader begins with it. */
  show(screen: Screen | undefined, content: readonly Child[]): void {
    const title = t(screen?.title ?? 'shell.nowhere');
    document.title = `${title} · ${t('shell.title')}`;
    fill(this.#heading, title);
    fill(this.#body, ...content);
    for (const [each, anchor] of this.#links) {
      if (each === screen) anchor.setAttribute('aria-current', 'page');
      else anchor.removeAttribute('aria-current');
    }
    this.#heading.focus({ preventScroll: this.#isFirst });
    this.#isFirst = false;
  }

  #menu(me: Me): HTMLElement {
    const sections = SECTIONS.flatMap((section) => {
      const screens = SCREENS.filter((screen) => screen.section === section && isOpenTo(screen, me));
      if (screens.length === 0) return [];
      const items = screens.map((screen) => {
        const anchor = link(screen.path, t(screen.title));
        this.#links.set(screen, anchor);
        return element('li', {}, anchor);
      });
      return [element('h2', {}, t(`section.${section}`)), element('ul', {}, items)];
    });
    const menu = element('details', { class: 'menu', open: true }, element('summary', {}, t('shell.menu')), sections);
    // On a narrow screen the menu would push the screen out of sight.
    const narrow = window.matchMedia('(max-width: 48rem)');
    const fold = () => menu.toggleAttribute('open', !narrow.matches);
    narrow.addEventListener('change', fold);
    fold();
    menu.addEventListener('click', (event) => {
      if (narrow.matches && event.target instanceof HTMLAnchorElement) menu.removeAttribute('open');
    });
    return element('nav', { 'aria-label': t('shell.menu') }, menu);
  }
}
