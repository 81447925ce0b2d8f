/** Which of the console's faces is shown: the way in, the set-up of a second factor, or the screens. */
import { Alert, Button, Center, Loader, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useObserved } from '../kit/observable.ts';
import type { ConsoleSession } from './session/console-session.ts';
import { ConsoleScreens } from './shell/console-screens.tsx';
import { Gate } from './sign-in/gate.tsx';
import { SecondFactorSetup } from './sign-in/second-factor-setup.tsx';
import { SignInScreen } from './sign-in/sign-in-screen.tsx';
import { StepUpDialog } from './sign-in/step-up-dialog.tsx';
import { sentenceOf, t } from './words/words.ts';

export function ConsoleApplication({ session }: { readonly session: ConsoleSession }) {
  // Texts are looked up as they are drawn: in another language everything is drawn anew.
  const { i18n } = useTranslation();
  return <Face key={i18n.language} session={session} />;
}

function Face({ session }: { readonly session: ConsoleSession }) {
  const state = useObserved(session, () => session.state);
  const isSteppingUp = useObserved(session, () => session.isSteppingUp);
  switch (state.phase) {
    case 'starting':
      return (
        <Center component="main" mih="100dvh">
          <Loader aria-label={t('list.loading')} role="status" />
        </Center>
      );
    case 'signed-out':
      return <SignInScreen session={session} reason={state.reason} />;
    case 'enrolling':
      // The session opens the set-up of a second factor alone: that is what is shown, whatever the address.
      return (
        <Gate title="factor.required">
          <Text>{t('factor.why')}</Text>
          <SecondFactorSetup api={session.api} onDone={() => void session.enrolled()} />
          <Button variant="default" onClick={() => void session.signOut()}>
            {t('shell.sign-out')}
          </Button>
        </Gate>
      );
    case 'trouble':
      return (
        <Gate title="shell.title">
          <Stack>
            <Alert color="red" role="alert" variant="light">
              {sentenceOf(state.error)}
            </Alert>
            <Button onClick={() => void session.enter()}>{t('action.retry')}</Button>
          </Stack>
        </Gate>
      );
    case 'signed-in':
      return (
        <>
          <ConsoleScreens session={session} me={state.me} reason={state.reason} />
          {isSteppingUp && <StepUpDialog session={session} me={state.me} />}
        </>
      );
    default:
      return state satisfies never;
  }
}
