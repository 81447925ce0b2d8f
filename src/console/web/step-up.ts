/** The second factor, asked again for what the server answers `step_up_required` to: over whatever screen is open. */
import type { ConsoleApi } from './console-api.ts';
import { showDialog } from './dialog.ts';
import { button, element, fill, workButton } from './elements.ts';
import { form } from './form.ts';
import { t } from './language.ts';
import type { Notices } from './notices.ts';
import { getPasskey, hasPasskeys } from '#src/client/passkey.ts';
import type { Me } from './screen-context.ts';
import { codeField, recoveryField } from './sign-in.ts';
import { leaveForProvider } from './single-sign-on.ts';

export interface StepUpOptions {
  readonly api: Pick<ConsoleApi, 'call'>;
  readonly me: Me;
  readonly notices: Notices;
}

/** Asks for it; whether it was given. Who signed in at the provider is sent there, and finds this screen afterwards. */
export async function askStepUp({ api, me, notices }: StepUpOptions): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const body = element('div');
  const dialog = showDialog('step-up.title', element('p', {}, t('step-up.why')), body);
  dialog.addEventListener('close', () => resolve(false));
  const done = () => {
    resolve(true);
    dialog.close();
  };
  const showCode = () => {
    const code = codeField();
    const send = async () => {
      await api.call('post /step-up', { body: { code: code.value.trim() } });
      done();
    };
    const other = button('sign-in.use-recovery', showRecovery, { class: 'quiet' });
    const byPasskey = async () => {
      const passkey = await getPasskey(await api.call('get /step-up/passkey', {}));
      await api.call('post /step-up', { body: { passkey } });
      done();
    };
    const isPerson = me.kind === 'person';
    const key = isPerson && hasPasskeys() && workButton('sign-in.passkey', notices, byPasskey, { class: 'quiet' });
    // The break-glass account has neither recovery codes nor passkeys.
    fill(body, form({ submit: 'factor.confirm', parts: [code], send }), isPerson && other, key);
    body.querySelector('input')?.focus();
  };
  const showRecovery = () => {
    const code = recoveryField();
    const send = async () => {
      await api.call('post /step-up', { body: { recovery_code: code.value.trim() } });
      done();
    };
    fill(body, form({ submit: 'factor.confirm', parts: [code], send }));
    body.querySelector('input')?.focus();
  };
  if (me.sign_in !== 'sso') showCode();
  else {
    const leave = async () => await leaveForProvider('step_up', await api.call('get /step-up/sso', {}));
    fill(body, workButton('step-up.provider', notices, leave, { class: 'primary' }));
  }
  return await promise;
}
