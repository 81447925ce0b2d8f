/** The person's e-mail address, and showing that it is theirs: only then a link comes by it when the password is forgotten. */
import { Button, Group, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useChat } from '../chat/chat-context.ts';
import { sentenceOf } from '../kit/language.ts';
import { FormAnswer, type Answer } from './form-answer.tsx';

export interface EmailSectionProps {
  readonly email: string;
  readonly isConfirmed: boolean;
  readonly onConfirmed: () => void;
}

export function EmailSection({ email, isConfirmed, onConfirmed }: EmailSectionProps) {
  const { t } = useTranslation();
  const { client } = useChat();
  const [isSent, setSent] = useState(false);
  const [code, setCode] = useState('');
  const [answer, setAnswer] = useState<Answer>();
  const told = async (work: Promise<string>) => {
    try {
      setAnswer({ text: await work, isDone: true });
    } catch (thrown) {
      setAnswer({ text: sentenceOf(thrown), isDone: false });
    }
  };
  const send = async () => {
    const { email: to } = await client.account.call('sendEmailCode');
    setSent(true);
    return t('email.sent', { email: to });
  };
  const confirm = async () => {
    await client.account.call('confirmEmail', { body: { code } });
    setSent(false);
    setCode('');
    onConfirmed();
    return t('email.confirmed');
  };
  return (
    <>
      <Text size="sm">
        {t('email.yours', { email })} {isConfirmed ? t('email.isConfirmed') : t('email.why')}
      </Text>
      {!isConfirmed && (
        <Group
          component="form"
          align="flex-end"
          gap="xs"
          onSubmit={(event) => (event.preventDefault(), void told(confirm()))}
        >
          {isSent && (
            <>
              <TextInput
                flex={1}
                label={t('email.code')}
                value={code}
                onChange={(event) => setCode(event.currentTarget.value)}
                autoComplete="one-time-code"
                autoCapitalize="none"
                spellCheck={false}
                required
                withAsterisk={false}
                maxLength={64}
              />
              <Button type="submit">{t('email.confirm')}</Button>
            </>
          )}
          <Button variant="default" onClick={() => void told(send())}>
            {t(isSent ? 'email.again' : 'email.send')}
          </Button>
        </Group>
      )}
      <FormAnswer answer={answer} />
    </>
  );
}
