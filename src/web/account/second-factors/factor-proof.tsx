/** Proving oneself: by a code of the app, a passkey, a recovery code, or where there is none of them by the password. */
import { Anchor, Button, Group, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useState, type SubmitEvent } from 'react';
import { useTranslation } from 'react-i18next';
import type { PasskeyAssertion } from '#src/protocol/sessions/passkeys.ts';
import { FormAnswer } from '../form-answer.tsx';
import { sentenceOf } from '../../kit/language.ts';

export type ProofWay = 'code' | 'passkey' | 'password' | 'recovery_code';
/** One of them. */
export interface Proof {
  readonly code?: string;
  readonly passkey?: PasskeyAssertion;
  readonly password?: string;
  readonly recovery_code?: string;
}

export interface FactorProofProps {
  /** What may prove it, the likeliest first. */
  readonly ways: readonly ProofWay[];
  /** Asks the browser for a passkey. @throws ParleyError */
  readonly getPasskey: () => Promise<PasskeyAssertion>;
  /** Takes the proof. @throws ParleyError why it is none. */
  readonly onProof: (proof: Proof) => Promise<void>;
  readonly onBack: () => void;
}

export function FactorProof({ getPasskey, onBack, onProof, ways }: FactorProofProps) {
  const { t } = useTranslation();
  const [way, setWay] = useState<ProofWay>(ways[0] ?? 'recovery_code');
  const [text, setText] = useState('');
  const [refused, setRefused] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const send = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    setRefused(undefined);
    try {
      await onProof(way === 'passkey' ? { passkey: await getPasskey() } : { [way]: text.trim() });
    } catch (thrown) {
      setRefused(sentenceOf(thrown));
      setText('');
    }
    setBusy(false);
  };
  const change = (next: ProofWay) => {
    setWay(next);
    setText('');
    setRefused(undefined);
  };
  return (
    <form onSubmit={(event) => void send(event)}>
      <Stack>
        <Text>{t(`factor.ask.${way}`)}</Text>
        <ProofField key={way} way={way} text={text} onText={setText} />
        <FormAnswer answer={refused === undefined ? undefined : { text: refused, isDone: false }} />
        <Button type="submit" loading={isBusy} fullWidth>
          {t(way === 'passkey' ? 'factor.usePasskey' : 'factor.continue')}
        </Button>
        <Group justify="space-between" gap="xs">
          {ways
            .filter((other) => other !== way)
            .map((other) => (
              <Anchor key={other} component="button" type="button" size="sm" onClick={() => change(other)}>
                {t(`factor.instead.${other}`)}
              </Anchor>
            ))}
          <Anchor component="button" type="button" size="sm" c="dimmed" onClick={onBack}>
            {t('app.cancel')}
          </Anchor>
        </Group>
      </Stack>
    </form>
  );
}

interface ProofFieldProps {
  readonly way: ProofWay;
  readonly text: string;
  readonly onText: (text: string) => void;
}

function ProofField({ onText, text, way }: ProofFieldProps) {
  const { t } = useTranslation();
  const shared = { value: text, required: true, withAsterisk: false, autoFocus: true };
  const onChange = (event: { currentTarget: { value: string } }) => onText(event.currentTarget.value);
  switch (way) {
    case 'passkey':
      return null;
    case 'password':
      return (
        <PasswordInput
          {...shared}
          onChange={onChange}
          label={t('signIn.password')}
          autoComplete="current-password"
          maxLength={256}
          visibilityToggleButtonProps={{ 'aria-label': t('signIn.showPassword') }}
        />
      );
    case 'code':
      return <CodeField text={text} onText={onText} />;
    default:
      return (
        <TextInput
          {...shared}
          onChange={onChange}
          label={t('factor.recoveryCode')}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          maxLength={64}
        />
      );
  }
}

/** Six digits, in two groups or in one. */
export function CodeField({ onText, text }: Omit<ProofFieldProps, 'way'>) {
  const { t } = useTranslation();
  return (
    <TextInput
      label={t('factor.code')}
      value={text}
      onChange={(event) => onText(event.currentTarget.value)}
      inputMode="numeric"
      autoComplete="one-time-code"
      pattern="[0-9]{3} ?[0-9]{3}"
      title={t('factor.codeForm')}
      required
      withAsterisk={false}
      maxLength={7}
      autoFocus
    />
  );
}
