/** What somebody does who forgot their password: a link by mail where there is one, an administrator, a code for guests. */
import { Anchor, Button, Divider, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useState, type SubmitEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { sentenceOf } from '../kit/language.ts';
import { FormAnswer, type Answer } from './form-answer.tsx';
import type { SignInSession } from './sign-in-session.ts';

export interface ForgottenPasswordProps {
  readonly session: SignInSession;
  /** Whether links come by mail here. */
  readonly isMailed: boolean;
  readonly onBack: () => void;
}

export function ForgottenPassword({ isMailed, onBack, session }: ForgottenPasswordProps) {
  const { t } = useTranslation();
  const [isGuest, setGuest] = useState(false);
  return (
    <Stack>
      <Title order={2} size="h4">
        {t('forgotten.title')}
      </Title>
      {isGuest ? (
        <GuestForm session={session} />
      ) : (
        <>
          {isMailed && <MailForm session={session} />}
          <Text size="sm">{t(isMailed ? 'forgotten.orAsk' : 'forgotten.ask')}</Text>
        </>
      )}
      <Divider />
      <Anchor component="button" type="button" size="sm" ta="start" onClick={() => setGuest(!isGuest)}>
        {t(isGuest ? 'forgotten.noGuest' : 'forgotten.guest')}
      </Anchor>
      <Button variant="default" onClick={onBack}>
        {t('forgotten.back')}
      </Button>
    </Stack>
  );
}

/** Does what a form asks for, and keeps what came of it. */
function useAnswer() {
  const [answer, setAnswer] = useState<Answer>();
  const [isBusy, setBusy] = useState(false);
  const work = (event: SubmitEvent, ask: () => Promise<string>) => {
    event.preventDefault();
    setBusy(true);
    ask().then(
      (text) => (setAnswer({ text, isDone: true }), setBusy(false)),
      (thrown: unknown) => (setAnswer({ text: sentenceOf(thrown), isDone: false }), setBusy(false)),
    );
  };
  return { answer, isBusy, work };
}

function MailForm({ session }: Pick<ForgottenPasswordProps, 'session'>) {
  const { t } = useTranslation();
  const [email, setEmail] = useState('');
  const { answer, isBusy, work } = useAnswer();
  const send = async () => {
    await session.requestPasswordReset(email.trim());
    return t('forgotten.sent');
  };
  return (
    <Stack component="form" gap="sm" onSubmit={(event) => work(event, send)}>
      <TextInput
        type="email"
        label={t('forgotten.email')}
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
        autoComplete="email"
        required
        withAsterisk={false}
        maxLength={254}
        autoFocus
      />
      <FormAnswer answer={answer} />
      <Button type="submit" loading={isBusy}>
        {t('forgotten.send')}
      </Button>
    </Stack>
  );
}

/** GST-03: whoever invited the guest is told, and an administrator reads the code to them. */
function GuestForm({ session }: Pick<ForgottenPasswordProps, 'session'>) {
  const { t } = useTranslation();
  const [phone, setPhone] = useState('');
  const [code, setCode] = useState('');
  const [password, setPassword] = useState('');
  const [isAsked, setAsked] = useState(false);
  const { answer, isBusy, work } = useAnswer();
  const number = phone.replaceAll(/[\s()-]/g, '');
  const send = async () => {
    if (isAsked) {
      await session.confirmRecovery({ phone: number, code: code.replaceAll(/[\s-]/g, ''), new_password: password });
      return t('forgotten.set');
    }
    await session.requestRecovery(number);
    setAsked(true);
    return t('forgotten.asked');
  };
  return (
    <Stack component="form" gap="sm" onSubmit={(event) => work(event, send)}>
      <TextInput
        type="tel"
        label={t('forgotten.phone')}
        description={t('forgotten.phoneForm')}
        value={phone}
        readOnly={isAsked}
        onChange={(event) => setPhone(event.currentTarget.value)}
        autoComplete="tel"
        required
        withAsterisk={false}
        autoFocus
      />
      {isAsked && (
        <>
          <TextInput
            label={t('forgotten.code')}
            value={code}
            onChange={(event) => setCode(event.currentTarget.value)}
            inputMode="numeric"
            autoComplete="one-time-code"
            required
            withAsterisk={false}
            maxLength={24}
          />
          <PasswordInput
            label={t('password.new')}
            description={t('password.rule')}
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
            autoComplete="new-password"
            required
            withAsterisk={false}
            maxLength={256}
            visibilityToggleButtonProps={{ 'aria-label': t('signIn.showPassword') }}
          />
        </>
      )}
      <FormAnswer answer={answer} />
      <Button type="submit" loading={isBusy}>
        {t(isAsked ? 'forgotten.setPassword' : 'forgotten.askCode')}
      </Button>
    </Stack>
  );
}
