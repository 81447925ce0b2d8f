/** Signing in: by name and password, or at a provider where there is one. */
import {
  Alert,
  Anchor,
  Button,
  Center,
  Divider,
  Loader,
  Paper,
  PasswordInput,
  Stack,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { KeyRound } from 'lucide-react';
import { lazy, Suspense, useEffect, useState, type SubmitEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { Logo } from '../kit/logo.tsx';
import { sentenceOf } from '../kit/language.ts';
import { ParleyError } from '#src/client/parley-error.ts';
import { getPasskey, hasPasskeys } from '#src/client/passkey.ts';
import type { SecondFactorAsk } from '#src/protocol/sessions/second-factors.ts';
import { LanguageChoice } from './language-choice.tsx';
import { FactorProof } from './second-factors/factor-proof.tsx';
import type { SignInSession, SignInWays } from './sign-in-session.ts';

/** Few need it, and whoever does has a moment. */
const ForgottenPassword = lazy(async () => ({
  default: (await import('./forgotten-password.tsx')).ForgottenPassword,
}));

const BOTH: SignInWays = { password: true, providers: [] };

export interface SignInScreenProps {
  readonly session: SignInSession;
  /** Why the person is here again, where they were signed in before. */
  readonly code: string | undefined;
  /** What is wanted besides the password that was right. */
  readonly ask: SecondFactorAsk | undefined;
}

export function SignInScreen({ ask, code, session }: SignInScreenProps) {
  const { t } = useTranslation();
  const [ways, setWays] = useState(BOTH);
  const [isForgotten, setForgotten] = useState(false);
  useEffect(() => {
    // A server that cannot be asked yet says so when somebody tries to sign in.
    session.readWays().then(setWays, () => undefined);
  }, [session]);
  return (
    <Center component="main" mih="100dvh" p="md">
      <Stack w="100%" maw={400} gap="lg">
        <Stack gap="xs" align="center">
          <Logo size={56} />
          <Title order={1} size="h2">
            {t('signIn.title')}
          </Title>
        </Stack>
        {code !== undefined && (
          <Alert color="orange" role="alert" title={t('signIn.again')}>
            {sentenceOf(new ParleyError(code, code))}
          </Alert>
        )}
        <Paper withBorder p="lg" radius="lg">
          {ask === undefined && isForgotten ? (
            <Suspense fallback={<Loader />}>
              <ForgottenPassword
                session={session}
                isMailed={ways.reset_by_mail === true}
                onBack={() => setForgotten(false)}
              />
            </Suspense>
          ) : ask === undefined ? (
            <Stack>
              {ways.password && <PasswordForm session={session} />}
              {ways.password && (
                <Anchor component="button" type="button" size="sm" ta="center" onClick={() => setForgotten(true)}>
                  {t('forgotten.title')}
                </Anchor>
              )}
              {ways.password && (hasPasskeys() || ways.providers.length > 0) && <Divider label={t('signIn.or')} />}
              {ways.password && hasPasskeys() && <PasskeyButton session={session} />}
              <Providers session={session} providers={ways.providers} />
            </Stack>
          ) : (
            <SecondFactor session={session} ask={ask} />
          )}
        </Paper>
        {ask === undefined && (
          <Text c="dimmed" size="sm" ta="center">
            {t('signIn.noAccount')}{' '}
            <Anchor href="console/" underline="always">
              {t('signIn.console')}
            </Anchor>
          </Text>
        )}
        <LanguageChoice />
      </Stack>
    </Center>
  );
}

function PasswordForm({ session }: { readonly session: SignInSession }) {
  const { t } = useTranslation();
  // The page behind an invitation's link leads here, and says whom it made.
  const invited = new URLSearchParams(location.hash.split('?')[1]).get('user') ?? '';
  const [username, setUsername] = useState(invited);
  const [password, setPassword] = useState('');
  const [refused, setRefused] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const send = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    setRefused(undefined);
    try {
      await session.signIn(username.trim(), password);
    } catch (thrown) {
      setRefused(sentenceOf(thrown));
      setBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void send(event)}>
      <Stack>
        {invited !== '' && <Text>{t('signIn.welcome', { user: invited })}</Text>}
        <TextInput
          label={t('signIn.username')}
          value={username}
          onChange={(event) => setUsername(event.currentTarget.value)}
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          required
          withAsterisk={false}
          maxLength={64}
          autoFocus={invited === ''}
        />
        <PasswordInput
          label={t('signIn.password')}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          autoComplete="current-password"
          required
          withAsterisk={false}
          maxLength={256}
          autoFocus={invited !== ''}
          visibilityToggleButtonProps={{ 'aria-label': t('signIn.showPassword') }}
        />
        {refused !== undefined && (
          <Alert color="red" role="alert" p="sm">
            {refused}
          </Alert>
        )}
        <Button type="submit" loading={isBusy} fullWidth>
          {t('signIn.send')}
        </Button>
      </Stack>
    </form>
  );
}

/** Goes on with a sign-in; one that has ended meanwhile begins anew. */
function SecondFactor({ ask, session }: { readonly session: SignInSession; readonly ask: SecondFactorAsk }) {
  const { passkey } = ask;
  const ways = ask.ways.filter((way) => way !== 'passkey' || (passkey !== undefined && hasPasskeys()));
  const get = async () => {
    if (passkey === undefined) throw new ParleyError('passkeys_unavailable', 'There is no passkey to ask for.');
    return await getPasskey(passkey);
  };
  return (
    <FactorProof
      ways={ways}
      getPasskey={get}
      onProof={async (proof) => await session.finish(ask, proof)}
      onBack={() => session.startOver()}
    />
  );
}

function PasskeyButton({ session }: { readonly session: SignInSession }) {
  const { t } = useTranslation();
  const [refused, setRefused] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const go = async () => {
    setBusy(true);
    setRefused(undefined);
    try {
      await session.signInWithPasskey();
    } catch (thrown) {
      setRefused(sentenceOf(thrown));
      setBusy(false);
    }
  };
  return (
    <>
      <Button
        variant="default"
        fullWidth
        leftSection={<KeyRound size={16} />}
        loading={isBusy}
        onClick={() => void go()}
      >
        {t('signIn.passkey')}
      </Button>
      {refused !== undefined && (
        <Alert color="red" role="alert" p="sm">
          {refused}
        </Alert>
      )}
    </>
  );
}

function Providers({ session, providers }: { readonly session: SignInSession } & Pick<SignInWays, 'providers'>) {
  const { t } = useTranslation();
  const [refused, setRefused] = useState<string>();
  const go = (id: string) => {
    session.goToProvider(id).catch((thrown: unknown) => setRefused(sentenceOf(thrown)));
  };
  return (
    <>
      {providers.map(({ id, name }) => (
        <Button key={id} variant="default" fullWidth onClick={() => go(id)}>
          {t('signIn.at', { provider: name })}
        </Button>
      ))}
      {refused !== undefined && (
        <Alert color="red" role="alert" p="sm">
          {refused}
        </Alert>
      )}
    </>
  );
}
