/** Which of the app's faces is shown: the way in, or the conversations; and what is said over all of them. */
import { Alert, Button, Center, Loader, Stack, Text, Title } from '@mantine/core';
import { RefreshCw, ShieldAlert } from 'lucide-react';
import { lazy, Suspense, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ChatApplication as Conversations } from './chat/chat-application.tsx';
import type { SignInSession } from './account/sign-in-session.ts';
import { SignInScreen } from './account/sign-in-screen.tsx';
import { currentLocale } from './kit/language.ts';
import { useObserved } from './kit/observable.ts';

/**
 * Who is not signed in does not wait for what only those need who are. Not `lazy`: React shows what a boundary waited for 300 ms after
 * the boundary's fallback at the earliest, however soon it is there.
 */
function useChatApplication(isWanted: boolean): typeof Conversations | undefined {
  const [loaded, setLoaded] = useState<{ readonly Conversations: typeof Conversations }>();
  const [failure, setFailure] = useState<{ readonly thrown: unknown }>();
  useEffect(() => {
    if (!isWanted) return;
    import('./chat/chat-application.tsx').then(
      ({ ChatApplication }) => setLoaded({ Conversations: ChatApplication }),
      (thrown: unknown) => setFailure({ thrown }),
    );
  }, [isWanted]);
  if (failure !== undefined) throw failure.thrown;
  return loaded?.Conversations;
}

const EnrollmentScreen = lazy(async () => ({
  default: (await import('./account/second-factors/enrollment-screen.tsx')).EnrollmentScreen,
}));

export function Application({ session }: { readonly session: SignInSession }) {
  const standing = useObserved(session, () => session.standing);
  if (standing === 'too-old') return <TooOld />;
  return (
    <>
      {standing === 'behind' && <Behind />}
      <FactorDue session={session} />
      <Face session={session} />
    </>
  );
}

function Face({ session }: { readonly session: SignInSession }) {
  const state = useObserved(session, () => session.state);
  const ChatApplication = useChatApplication(state.phase === 'signed-in');
  switch (state.phase) {
    case 'starting':
      return <Waiting />;
    case 'signed-out':
      return <SignInScreen session={session} code={state.code} ask={state.ask} />;
    case 'enrolling':
      return (
        <Suspense fallback={<Waiting />}>
          <EnrollmentScreen
            account={state.account}
            onAdded={() => void session.enrolled().catch(() => undefined)}
            onSignOut={() => void session.signOut()}
          />
        </Suspense>
      );
    case 'signed-in':
      return ChatApplication === undefined ? (
        <Waiting />
      ) : (
        <ChatApplication
          key={state.client.user}
          client={state.client}
          leads={() => session.leads}
          onSignOut={() => void session.signOut()}
        />
      );
    default:
      return state satisfies never;
  }
}

function Waiting() {
  const { t } = useTranslation();
  return (
    <Center mih="100dvh">
      <Loader aria-label={t('app.loading')} role="status" />
    </Center>
  );
}

/** TFA-01: the installation wants a second factor, and says from when on. */
function FactorDue({ session }: { readonly session: SignInSession }) {
  const { t } = useTranslation();
  const due = useObserved(session, () => session.factorDue);
  if (due === undefined) return null;
  const at = new Date(due).toLocaleString(currentLocale(), { dateStyle: 'long', timeStyle: 'short' });
  return (
    <Alert color="orange" role="status" radius={0} py={6} icon={<ShieldAlert size={16} />}>
      {t('factor.due', { at })}{' '}
      <Button component="a" href="#/settings" size="compact-xs" variant="default">
        {t('factor.dueHow')}
      </Button>
    </Alert>
  );
}

/** VER-04: the server is newer than this page, which a reload settles. */
function Behind() {
  const { t } = useTranslation();
  return (
    <Alert color="blue" role="status" radius={0} py={6} icon={<RefreshCw size={16} />}>
      {t('app.behind')}{' '}
      <Button size="compact-xs" variant="default" onClick={() => location.reload()}>
        {t('app.reload')}
      </Button>
    </Alert>
  );
}

/** VER-04: the server does not serve this page any more. */
function TooOld() {
  const { t } = useTranslation();
  return (
    <Center component="main" mih="100dvh" p="xl">
      <Stack align="center" ta="center" maw={440}>
        <Title order={1} size="h3">
          {t('app.tooOld')}
        </Title>
        <Text>{t('app.tooOldWhy')}</Text>
        <Button leftSection={<RefreshCw size={16} />} onClick={() => location.reload()}>
          {t('app.reload')}
        </Button>
      </Stack>
    </Center>
  );
}
