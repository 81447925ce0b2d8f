/** The second factor, asked again for what the server answers `step_up_required` to: over whatever screen is open. */
import { Alert, Button, Modal, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { getPasskey, hasPasskeys } from '#src/client/passkey.ts';
import { FieldsForm } from '../kit/fields-form.tsx';
import type { ConsoleSession, Me } from '../session/console-session.ts';
import { leaveForProvider } from '../session/single-sign-on.ts';
import { sentenceOf, t } from '../words/words.ts';
import { CODE_FIELD, RECOVERY_FIELD } from './code-fields.ts';

export interface StepUpProps {
  readonly session: ConsoleSession;
  readonly me: Me;
}

export function StepUpDialog({ me, session }: StepUpProps) {
  return (
    <Modal
      opened
      onClose={() => session.answerStepUp(false)}
      title={t('step-up.title')}
      transitionProps={{ duration: 0 }}
      closeButtonProps={{ 'aria-label': t('action.close') }}
      zIndex={400}
    >
      <Text mb="md">{t('step-up.why')}</Text>
      <StepUp me={me} session={session} />
    </Modal>
  );
}

/** Who signed in at the provider is sent there, and finds this screen afterwards. */
function StepUp({ me, session }: StepUpProps) {
  const { api } = session;
  const [isRecovery, setRecovery] = useState(false);
  const [wrong, setWrong] = useState<string>();
  const attempt = (work: () => Promise<unknown>) => () => {
    setWrong(undefined);
    work().catch((error: unknown) => setWrong(sentenceOf(error)));
  };
  const prove = async (body: Parameters<typeof api.call<'post /step-up'>>[1]['body']) => {
    await api.call('post /step-up', { body });
    session.answerStepUp(true);
  };
  const said =
    wrong === undefined ? null : (
      <Alert color="red" role="alert" variant="light">
        {wrong}
      </Alert>
    );
  if (me.sign_in === 'sso') {
    return (
      <Stack>
        {said}
        <Button
          onClick={attempt(async () => await leaveForProvider('step_up', await api.call('get /step-up/sso', {})))}
        >
          {t('step-up.provider')}
        </Button>
      </Stack>
    );
  }
  if (isRecovery) {
    return (
      <FieldsForm
        key="recovery"
        fields={{ recovery_code: RECOVERY_FIELD }}
        submit="factor.confirm"
        send={async ({ recovery_code: code }) => await prove({ recovery_code: code.trim() })}
      />
    );
  }
  return (
    <Stack>
      <FieldsForm
        key="code"
        fields={{ code: CODE_FIELD }}
        submit="factor.confirm"
        send={async ({ code }) => await prove({ code: code.trim() })}
      />
      {said}
      {/* The break-glass account has neither recovery codes nor passkeys. */}
      {me.kind === 'person' && (
        <Button variant="subtle" onClick={() => setRecovery(true)}>
          {t('sign-in.use-recovery')}
        </Button>
      )}
      {me.kind === 'person' && hasPasskeys() && (
        <Button
          variant="default"
          onClick={attempt(
            async () => await prove({ passkey: await getPasskey(await api.call('get /step-up/passkey', {})) }),
          )}
        >
          {t('sign-in.passkey')}
        </Button>
      )}
    </Stack>
  );
}
