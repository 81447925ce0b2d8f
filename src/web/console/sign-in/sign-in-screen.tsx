/** Signing in: by password and second factor, at the provider, as break-glass, or with a vendor token. */
import { Alert, Button, Stack } from '@mantine/core';
import { useEffect, useState } from 'react';
import { ParleyError } from '#src/client/parley-error.ts';
import { getPasskey, hasPasskeys } from '#src/client/passkey.ts';
import type { PasskeyAssertion } from '#src/protocol/sessions/passkeys.ts';
import { FieldsForm } from '../kit/fields-form.tsx';
import type { ReplyOf } from '../session/console-api.ts';
import type { ConsoleSession, Reason } from '../session/console-session.ts';
import { credentialOf, startSso } from '../session/single-sign-on.ts';
import { sentenceOf, t, type Key } from '../words/words.ts';
import { CODE_FIELD, RECOVERY_FIELD } from './code-fields.ts';
import { Gate } from './gate.tsx';

type Given = { readonly username: string; readonly password: string };
type View =
  | { readonly name: 'password' | 'break-glass' | 'vendor' }
  | { readonly name: 'code' | 'recovery'; readonly given: Given };

const TITLES: Readonly<Record<View['name'], Key>> = {
  password: 'sign-in.title',
  code: 'sign-in.second',
  recovery: 'sign-in.second',
  'break-glass': 'sign-in.break-glass',
  vendor: 'sign-in.vendor',
};

/** Whatever a token says of itself, the server judges it at the first request. */
const VENDOR_TOKEN = 'svc_vst_';

export interface SignInScreenProps {
  readonly session: ConsoleSession;
  /** Why somebody has to sign in again, where there is a reason. */
  readonly reason: Reason | undefined;
}

/** What the ways in are made of. */
interface WaysIn {
  readonly session: ConsoleSession;
  /** Does something whose failure is said above. */
  readonly attempt: (work: () => Promise<unknown>) => void;
  readonly show: (view: View) => void;
}

type Login = Given & { code?: string; recovery_code?: string; passkey?: PasskeyAssertion };

async function logIn(session: ConsoleSession, body: Login): Promise<void> {
  await session.signIn(credentialOf(await session.api.call('post /login', { body })));
}

async function askPasskey({ api }: ConsoleSession): Promise<PasskeyAssertion> {
  return await getPasskey(await api.call('get /login/passkey', {}));
}

export function SignInScreen({ reason, session }: SignInScreenProps) {
  const { api } = session;
  const [ways, setWays] = useState<ReplyOf<'get /login'>>();
  const [view, setView] = useState<View>({ name: 'password' });
  const [wrong, setWrong] = useState<string>();
  useEffect(() => {
    api.call('get /login', {}).then(setWays, (error: unknown) => setWrong(sentenceOf(error)));
  }, [api]);
  const waysIn: WaysIn = {
    session,
    attempt: (work) => {
      setWrong(undefined);
      work().catch((error: unknown) => setWrong(sentenceOf(error)));
    },
    show: (next) => {
      setWrong(undefined);
      setView(next);
    },
  };
  return (
    <Gate title={TITLES[view.name]} key={view.name} said={reason}>
      {wrong === undefined ? null : (
        <Alert color="red" role="alert" variant="light">
          {wrong}
        </Alert>
      )}
      <Stack gap="sm">
        {view.name === 'password' && <ByPassword {...waysIn} ways={ways} />}
        {view.name === 'code' && <ByCode {...waysIn} given={view.given} />}
        {view.name === 'recovery' && <ByRecoveryCode {...waysIn} given={view.given} />}
        {view.name === 'break-glass' && <AsBreakGlass {...waysIn} />}
        {view.name === 'vendor' && <AsVendor {...waysIn} />}
      </Stack>
    </Gate>
  );
}

function Another({ label, onClick }: { readonly label: Key; readonly onClick: () => void }) {
  return (
    <Button variant="subtle" onClick={onClick}>
      {t(label)}
    </Button>
  );
}

function ByPassword({ attempt, session, show, ways }: WaysIn & { readonly ways: ReplyOf<'get /login'> | undefined }) {
  const { api } = session;
  const isMode = (mode: ReplyOf<'get /login'>['sign_in_mode']) => (ways?.sign_in_mode ?? 'local') === mode;
  return (
    <>
      {isMode('local') ? (
        <PasswordForm
          login={async (given) => await logIn(session, given)}
          onCode={(given) => show({ name: 'code', given })}
        />
      ) : null}
      {isMode('identity') ? <p>{t('sign-in.identity')}</p> : null}
      {ways?.sso === true && (
        <Button onClick={() => attempt(async () => await startSso(api))}>{t('sign-in.sso')}</Button>
      )}
      {isMode('local') && hasPasskeys() && (
        <Button
          variant="default"
          onClick={() =>
            attempt(async () => {
              const body = { passkey: await askPasskey(session) };
              await session.signIn(credentialOf(await api.call('post /login/passkey', { body })));
            })
          }
        >
          {t('sign-in.passkey')}
        </Button>
      )}
      <Another label="sign-in.vendor" onClick={() => show({ name: 'vendor' })} />
      <Another label="sign-in.break-glass" onClick={() => show({ name: 'break-glass' })} />
    </>
  );
}

function ByCode({ attempt, given, session, show }: WaysIn & { readonly given: Given }) {
  return (
    <>
      <FieldsForm
        fields={{ code: CODE_FIELD }}
        submit="sign-in.submit"
        send={async ({ code }) => await logIn(session, { ...given, code: code.trim() })}
      />
      {hasPasskeys() && (
        <Button
          variant="default"
          onClick={() => attempt(async () => await logIn(session, { ...given, passkey: await askPasskey(session) }))}
        >
          {t('sign-in.passkey')}
        </Button>
      )}
      <Another label="sign-in.use-recovery" onClick={() => show({ name: 'recovery', given })} />
      <Another label="action.back" onClick={() => show({ name: 'password' })} />
    </>
  );
}

function ByRecoveryCode({ given, session, show }: WaysIn & { readonly given: Given }) {
  return (
    <>
      <FieldsForm
        fields={{ recovery_code: RECOVERY_FIELD }}
        submit="sign-in.submit"
        send={async ({ recovery_code: code }) => await logIn(session, { ...given, recovery_code: code.trim() })}
      />
      <Another label="action.back" onClick={() => show({ name: 'code', given })} />
    </>
  );
}

function AsBreakGlass({ session, show }: WaysIn) {
  return (
    <>
      <p>{t('sign-in.break-glass-hint')}</p>
      <FieldsForm
        fields={{ password: passwordField('off'), code: CODE_FIELD }}
        submit="sign-in.submit"
        send={async ({ code, password }) => {
          const body = { password, code: code.trim() };
          await session.signIn(credentialOf(await session.api.call('post /break-glass/login', { body })));
        }}
      />
      <Another label="action.back" onClick={() => show({ name: 'password' })} />
    </>
  );
}

function AsVendor({ session, show }: WaysIn) {
  return (
    <>
      <p>{t('sign-in.vendor-hint')}</p>
      <FieldsForm
        fields={{
          token: { label: 'sign-in.token', type: 'password', isRequired: true, maxLength: 256, isName: true },
        }}
        submit="sign-in.submit"
        send={async ({ token }) => {
          const text = token.trim();
          if (!text.startsWith(VENDOR_TOKEN)) throw new ParleyError('vendor_token_invalid', '', { field: 'token' });
          await session.signIn({ token: text, idleSeconds: null, expiresAt: null });
        }}
      />
      <Another label="action.back" onClick={() => show({ name: 'password' })} />
    </>
  );
}

function PasswordForm({
  login,
  onCode,
}: {
  readonly login: (given: Given) => Promise<void>;
  readonly onCode: (given: Given) => void;
}) {
  return (
    <FieldsForm
      fields={{
        username: {
          label: 'sign-in.username',
          isRequired: true,
          maxLength: 64,
          isName: true,
          autoComplete: 'username',
        },
        password: passwordField('current-password'),
      }}
      submit="sign-in.submit"
      send={async ({ password, username }) => {
        const given = { username: username.trim(), password };
        try {
          await login(given);
        } catch (error) {
          if (!(error instanceof ParleyError && error.code === 'second_factor_required')) throw error;
          onCode(given);
        }
      }}
    />
  );
}

function passwordField(autoComplete: string) {
  return { label: 'sign-in.password', type: 'password', isRequired: true, maxLength: 256, autoComplete } as const;
}
