/** Setting up a second factor: the code to scan or to type, its confirmation, and the recovery codes, once (TFA-01). */
import { toParleyError } from '#src/client/parley-error.ts';
import type { ConsoleApi, ReplyOf } from './console-api.ts';
import { button, element, fill } from './elements.ts';
import { form } from './form.ts';
import { sentenceOf, t } from './language.ts';
import { shownOnce } from './shown-once.ts';
import { codeField } from './sign-in.ts';

/** What an authenticator app is to take in. */
export type TotpSetup = ReplyOf<'post /second-factor/setup'>;

/** The QR code and the secret. An SVG document of the server's is shown as an image, which runs nothing. */
export function totpFigure({ qr, secret }: TotpSetup): HTMLElement {
  const source = `data:image/svg+xml;utf8,${encodeURIComponent(qr)}`;
  return element(
    'div',
    { class: 'totp' },
    element('img', { src: source, alt: t('factor.qr'), width: 220, height: 220 }),
    element('p', {}, t('factor.by-hand')),
    element('pre', { class: 'secret', tabindex: '0', translate: 'no' }, secret),
  );
}

export function recoveryCodesCard(codes: readonly string[], kept: () => void): HTMLElement {
  return shownOnce({
    title: 'factor.codes',
    hint: 'factor.codes-hint',
    secret: codes.join('\n'),
    file: 'parley-recovery-codes.txt',
    kept,
  });
}

export interface SecondFactorSetupOptions {
  readonly api: Pick<ConsoleApi, 'call'>;
  /** The second factor is in force and its recovery codes are kept. */
  readonly done: () => Promise<void> | void;
}

/** Begins a set-up at once, and leads through it. */
export function setUpSecondFactor({ api, done }: SecondFactorSetupOptions): HTMLElement {
  const place = element(
    'div',
    { class: 'loaded' },
    element('p', { class: 'state', role: 'status' }, t('list.loading')),
  );
  const begin = async () => {
    try {
      const setup = await api.call('post /second-factor/setup', {});
      const code = codeField();
      const send = async () => {
        const body = { code: code.value.trim() };
        const { recovery_codes: codes } = await api.call('post /second-factor/confirm', { body });
        fill(
          place,
          recoveryCodesCard(codes, () => void done()),
        );
      };
      const steps = element(
        'ol',
        {},
        element('li', {}, t('factor.scan'), totpFigure(setup)),
        element('li', {}, t('factor.type'), form({ submit: 'factor.confirm', parts: [code], send })),
      );
      fill(place, steps);
    } catch (error) {
      const sentence = element('p', { role: 'alert', class: 'bad' }, sentenceOf(toParleyError(error)));
      fill(
        place,
        sentence,
        button('action.retry', () => void begin()),
      );
    }
  };
  void begin();
  return place;
}
