/**
 * The console as one application: who is signed in, which screen is shown, and the way back to it.
 *
 *     signed out ──► sign-in ──┬─ no second factor ─► set-up ─► full
 *         ▲                    └──────────────────────────────► full ──► the screen of the address
 *         └──── session over, idle, or signed out: the address stays, so signing in again leads back to it
 */
import { LANGUAGES, type Language } from '#src/client/translations.ts';
import { type ParleyError, toParleyError } from '#src/client/parley-error.ts';
import { ConsoleApi } from './console-api.ts';
import { Credentials, type Credential } from './credentials.ts';
import { closeDialogs } from './dialog.ts';
import { button, element, fill } from './elements.ts';
import { currentLanguage, languageFor, sentenceOf, setLanguage, t, type Key } from './language.ts';
import { Notices } from './notices.ts';
import { SCREENS } from './screen-list.ts';
import { setUpSecondFactor } from './second-factor-setup.ts';
import { Shell } from './shell.ts';
import { SignIn } from './sign-in.ts';
import { finishSso } from './single-sign-on.ts';
import { askStepUp } from './step-up.ts';
import { isOpenTo, readPlace, ScreenContext, type Me } from './screen-context.ts';

/** Where the chosen language is kept, on this device. */
const LANGUAGE_KEPT_AS = 'parley.console.language';

export interface ApplicationOptions {
  readonly root: HTMLElement;
  readonly prefix: string;
  readonly protocol: string;
}

export class Application {
  readonly #root: HTMLElement;
  readonly #api: ConsoleApi;
  readonly #credentials: Credentials;
  #me: Me | undefined;
  #shell: Shell | undefined;
  /** Of the screen that is shown. */
  #leaving = new AbortController();

  constructor({ root, prefix, protocol }: ApplicationOptions) {
    this.#root = root;
    this.#credentials = new Credentials(sessionStorage, () => this.#ended('sign-in.idle'));
    this.#api = new ConsoleApi({
      prefix,
      protocol,
      token: () => this.#credentials.token,
      used: () => this.#credentials.used(),
      ended: (error) => this.#ended(error),
      enrollmentRequired: () => this.#showEnrollment(),
      stepUp: async () => {
        const [me, notices] = [this.#me, this.#shell?.notices];
        return me !== undefined && notices !== undefined && (await askStepUp({ api: this.#api, me, notices }));
      },
    });
  }

  async start(): Promise<void> {
    setLanguage(languageFor([localStorage.getItem(LANGUAGE_KEPT_AS), ...navigator.languages]));
    window.addEventListener('hashchange', () => this.#showScreen());
    let failure: ParleyError | undefined;
    let said: Key | undefined;
    try {
      const returned = await finishSso(this.#api);
      if (returned !== undefined && 'credential' in returned) this.#credentials.set(returned.credential);
      else said = returned?.said;
    } catch (error) {
      failure = toParleyError(error);
    }
    if (this.#credentials.token === undefined)
      this.#showSignIn(failure === undefined ? undefined : sentenceOf(failure));
    else {
      await this.#enter();
      if (failure !== undefined) this.#shell?.notices.complain(failure);
      if (said !== undefined) this.#shell?.notices.say(said);
    }
  }

  /** Asks who is signed in and shows what they may see. */
  async #enter(): Promise<void> {
    try {
      this.#me = await this.#api.call('get /me', {});
    } catch (error) {
      // A credential that is none was answered by the sign-in already, and one that is to be enrolled by its set-up.
      if (this.#credentials.token === undefined || this.#isEnrolling) return;
      this.#showTrouble(toParleyError(error));
      return;
    }
    const notices = new Notices();
    this.#shell = new Shell({
      me: this.#me,
      notices,
      signOut: async () => await this.#signOut(),
      speak: (language) => this.#speak(language),
    });
    fill(this.#root, this.#shell.element);
    this.#showScreen();
  }

  #isEnrolling = false;

  #showScreen(): void {
    const [me, shell] = [this.#me, this.#shell];
    if (me === undefined || shell === undefined) return;
    this.#leave();
    const place = readPlace(location.hash);
    const open = SCREENS.filter((screen) => isOpenTo(screen, me));
    const screen = open.find(({ path }) => path === place.path) ?? (place.path === '' ? open[0] : undefined);
    shell.notices.clear();
    if (screen === undefined) {
      shell.show(undefined, [element('p', { class: 'state' }, t('shell.unknown'))]);
      return;
    }
    const stage = new ScreenContext({
      api: this.#api,
      me,
      notices: shell.notices,
      place,
      signal: this.#leaving.signal,
      keepQuery: (query) => {
        const route = [place.path, ...place.rest].map(encodeURIComponent).join('/');
        history.replaceState(null, '', `#/${route}${query.size === 0 ? '' : `?${query.toString()}`}`);
      },
      go: (route) => {
        location.hash = `#/${route}`;
      },
      signOut: async () => await this.#signOut(),
    });
    shell.show(screen, screen.show(stage));
  }

  #showSignIn(said?: string): void {
    this.#reset();
    const signIn = new SignIn({
      api: this.#api,
      said,
      entered: async (credential: Credential) => {
        this.#credentials.set(credential);
        await this.#enter();
      },
      speak: (language) => this.#speak(language),
    });
    fill(this.#root, signIn.element);
    signIn.focus();
  }

  /** The session opens the set-up of a second factor alone: that is what is shown, whatever the address. */
  #showEnrollment(): void {
    if (this.#isEnrolling) return;
    this.#reset();
    this.#isEnrolling = true;
    const setup = setUpSecondFactor({
      api: this.#api,
      done: async () => {
        this.#isEnrolling = false;
        await this.#enter();
      },
    });
    const signOut = button('shell.sign-out', () => void this.#signOut());
    const heading = element('h1', { tabindex: '-1' }, t('factor.required'));
    fill(this.#root, element('main', { class: 'gate' }, heading, element('p', {}, t('factor.why')), setup, signOut));
    heading.focus();
  }

  #showTrouble(error: ParleyError): void {
    this.#reset();
    const retry = button('action.retry', () => void this.#enter());
    const said = element('p', { role: 'alert', class: 'bad' }, sentenceOf(error));
    fill(this.#root, element('main', { class: 'gate' }, element('h1', {}, t('shell.title')), said, retry));
  }

  async #signOut(): Promise<void> {
    try {
      // A vendor token is no session: forgetting it is all there is to do.
      if (this.#me?.kind !== 'vendor') await this.#api.call('post /logout', {});
    } catch {
      // The session ends by itself when it is idle; what is left of it here goes now.
    }
    this.#credentials.clear();
    history.replaceState(null, '', '#/');
    this.#showSignIn();
  }

  #ended(reason: ParleyError | 'sign-in.idle'): void {
    if (this.#credentials.token === undefined) return;
    this.#credentials.clear();
    this.#showSignIn(typeof reason === 'string' ? t(reason) : sentenceOf(reason));
  }

  #speak(language: Language): void {
    if (!LANGUAGES.includes(language) || language === currentLanguage()) return;
    setLanguage(language);
    localStorage.setItem(LANGUAGE_KEPT_AS, language);
    if (this.#me === undefined) this.#showSignIn();
    else void this.#enter();
  }

  #reset(): void {
    this.#leave();
    this.#me = undefined;
    this.#shell = undefined;
    this.#isEnrolling = false;
    document.documentElement.lang = currentLanguage();
    document.title = t('shell.title');
  }

  /** Nothing of the screen before goes on: its requests are cancelled and its dialogs closed. */
  #leave(): void {
    this.#leaving.abort();
    this.#leaving = new AbortController();
    closeDialogs();
  }
}
