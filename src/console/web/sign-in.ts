/** Signing in: by password and second factor, at the provider, as break-glass, or with a vendor token. */
import { ParleyError, toParleyError } from '#src/client/parley-error.ts';
import type { PasskeyAssertion } from '#src/protocol/sessions/passkeys.ts';
import type { Language } from '#src/client/translations.ts';
import type { ConsoleApi } from './console-api.ts';
import type { Credential } from './credentials.ts';
import { button, element, fill, workButton, type Child } from './elements.ts';
import { type Field, form, input } from './form.ts';
import { languageChoice } from './language-choice.ts';
import { sentenceOf, t, type Key } from './language.ts';
import { Notices } from './notices.ts';
import { getPasskey, hasPasskeys } from '#src/client/passkey.ts';
import { credentialOf, startSso } from './single-sign-on.ts';

const CODE_ATTRIBUTES = {
  inputmode: 'numeric',
  autocomplete: 'one-time-code',
  pattern: '\\d{3} ?\\d{3}',
  maxlength: 7,
  required: true,
} as const;

export function codeField(): Field {
  return input({ label: 'sign-in.code', name: 'code', hint: 'sign-in.code-hint', attributes: CODE_ATTRIBUTES });
}

export function recoveryField(): Field {
  return input({
    label: 'sign-in.recovery',
    name: 'recovery_code',
    hint: 'sign-in.recovery-hint',
    attributes: { required: true, maxlength: 64, spellcheck: 'false', autocapitalize: 'none' },
  });
}

export interface SignInOptions {
  readonly api: ConsoleApi;
  /** Why somebody has to sign in again, where there is a reason. */
  readonly said: string | undefined;
  readonly entered: (credential: Credential) => Promise<void>;
  readonly speak: (language: Language) => void;
}

export class SignIn {
  readonly element: HTMLElement;
  readonly #options: SignInOptions;
  readonly #heading = element('h1', { tabindex: '-1' });
  readonly #body = element('div', { class: 'gate-body' });
  readonly #ways = element('div', { class: 'ways' });
  readonly #notices = new Notices();
  /** Whether passwords sign in here; until the server has said, as most do. */
  #takesPasswords = true;
  #hasSso = false;

  constructor(options: SignInOptions) {
    this.#options = options;
    this.element = element(
      'main',
      { class: 'gate' },
      this.#heading,
      options.said !== undefined && element('p', { class: 'banner', role: 'status' }, options.said),
      this.#notices.element,
      this.#body,
      this.#ways,
      languageChoice(options.speak),
    );
    this.#showPassword();
    void this.#learn();
  }

  focus(): void {
    const first = this.#body.querySelector('input');
    (first ?? this.#heading).focus();
  }

  /** Asks how people sign in here. */
  async #learn(): Promise<void> {
    try {
      const { sign_in_mode: mode, sso } = await this.#options.api.call('get /login', {});
      this.#hasSso = sso;
      this.#takesPasswords = mode === 'local';
      if (mode === 'identity') this.#showPassword();
      else this.#offer();
    } catch (error) {
      this.#notices.complain(toParleyError(error));
    }
  }

  #show(title: Key, content: readonly Child[], more: readonly Child[]): void {
    fill(this.#heading, t(title));
    fill(this.#body, ...content);
    fill(this.#ways, ...more);
    this.focus();
  }

  #showPassword(): void {
    if (!this.#takesPasswords) {
      this.#show('sign-in.title', [element('p', {}, t('sign-in.identity'))], []);
      this.#offer();
      return;
    }
    const username = input({
      label: 'sign-in.username',
      name: 'username',
      attributes: {
        autocomplete: 'username',
        autocapitalize: 'none',
        spellcheck: 'false',
        required: true,
        maxlength: 64,
      },
    });
    const password = passwordField('current-password');
    const send = async () => {
      const given = { username: username.value.trim(), password: password.value };
      try {
        await this.#login(given);
      } catch (error) {
        if (!(error instanceof ParleyError && error.code === 'second_factor_required')) throw error;
        this.#showCode(given);
      }
    };
    this.#show('sign-in.title', [form({ submit: 'sign-in.submit', parts: [username, password], send })], []);
    this.#offer();
  }

  /** The other ways in. */
  #offer(): void {
    fill(
      this.#ways,
      this.#hasSso &&
        workButton('sign-in.sso', this.#notices, async () => await startSso(this.#options.api), { class: 'primary' }),
      this.#takesPasswords &&
        hasPasskeys() &&
        workButton('sign-in.passkey', this.#notices, async () => await this.#byPasskey()),
      button('sign-in.vendor', () => this.#showVendor(), { class: 'quiet' }),
      button('sign-in.break-glass', () => this.#showBreakGlass(), { class: 'quiet' }),
    );
  }

  /** By a passkey alone: it is both factors. */
  async #byPasskey(): Promise<void> {
    const { api, entered } = this.#options;
    const passkey = await getPasskey(await api.call('get /login/passkey', {}));
    await entered(credentialOf(await api.call('post /login/passkey', { body: { passkey } })));
  }

  #showCode(given: { readonly username: string; readonly password: string }): void {
    const code = codeField();
    const send = async () => await this.#login({ ...given, code: code.value.trim() });
    const byPasskey = async () => {
      await this.#login({
        ...given,
        passkey: await getPasskey(await this.#options.api.call('get /login/passkey', {})),
      });
    };
    this.#show(
      'sign-in.second',
      [form({ submit: 'sign-in.submit', parts: [code], send })],
      [
        ...(hasPasskeys() ? [workButton('sign-in.passkey', this.#notices, byPasskey, { class: 'quiet' })] : []),
        button('sign-in.use-recovery', () => this.#showRecovery(given), { class: 'quiet' }),
        button('action.back', () => this.#showPassword(), { class: 'quiet' }),
      ],
    );
  }

  #showRecovery(given: { readonly username: string; readonly password: string }): void {
    const code = recoveryField();
    const send = async () => await this.#login({ ...given, recovery_code: code.value.trim() });
    this.#show(
      'sign-in.second',
      [form({ submit: 'sign-in.submit', parts: [code], send })],
      [button('action.back', () => this.#showCode(given), { class: 'quiet' })],
    );
  }

  #showBreakGlass(): void {
    const password = passwordField('off');
    const code = codeField();
    const send = async () => {
      const body = { password: password.value, code: code.value.trim() };
      await this.#options.entered(credentialOf(await this.#options.api.call('post /break-glass/login', { body })));
    };
    this.#show(
      'sign-in.break-glass',
      [
        element('p', {}, t('sign-in.break-glass-hint')),
        form({ submit: 'sign-in.submit', parts: [password, code], send }),
      ],
      [button('action.back', () => this.#showPassword(), { class: 'quiet' })],
    );
  }

  #showVendor(): void {
    const token = input({
      label: 'sign-in.token',
      name: 'token',
      attributes: { type: 'password', required: true, maxlength: 256, spellcheck: 'false' },
    });
    const send = async () => {
      const text = token.value.trim();
      // Whatever it says of itself, it is judged by the server at the first request.
      if (!text.startsWith('svc_vst_')) {
        token.blame(sentenceOf({ code: 'vendor_token_invalid', message: '' }));
        token.focus();
        return;
      }
      await this.#options.entered({ token: text, idleSeconds: null, expiresAt: null });
    };
    this.#show(
      'sign-in.vendor',
      [element('p', {}, t('sign-in.vendor-hint')), form({ submit: 'sign-in.submit', parts: [token], send })],
      [button('action.back', () => this.#showPassword(), { class: 'quiet' })],
    );
  }

  async #login(body: {
    readonly username: string;
    readonly password: string;
    readonly code?: string;
    readonly recovery_code?: string;
    readonly passkey?: PasskeyAssertion;
  }): Promise<void> {
    await this.#options.entered(credentialOf(await this.#options.api.call('post /login', { body })));
  }
}

function passwordField(autocomplete: string): Field {
  return input({
    label: 'sign-in.password',
    name: 'password',
    attributes: { type: 'password', autocomplete, required: true, maxlength: 256 },
  });
}
