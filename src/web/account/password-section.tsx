/** Another password; the other devices are signed out where that is wished. */
import { Button, Checkbox, PasswordInput, Stack } from '@mantine/core';
import { useState, type SubmitEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { useChat } from '../chat/chat-context.ts';
import { sentenceOf } from '../kit/language.ts';
import { FormAnswer, type Answer } from './form-answer.tsx';

export function PasswordSection() {
  const { t } = useTranslation();
  const { client, me } = useChat();
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const [isEndingOthers, setEndingOthers] = useState(true);
  const [answer, setAnswer] = useState<Answer>();
  const save = async (event: SubmitEvent) => {
    event.preventDefault();
    try {
      const count = await client.account.changePassword(current, next, isEndingOthers);
      setCurrent('');
      setNext('');
      setAnswer({ text: t('password.changed', { count }), isDone: true });
    } catch (thrown) {
      setAnswer({ text: sentenceOf(thrown), isDone: false });
    }
  };
  const eye = { visibilityToggleButtonProps: { 'aria-label': t('signIn.showPassword') } };
  return (
    <Stack component="form" onSubmit={(event) => void save(event)} gap="sm">
      <input type="hidden" name="username" autoComplete="username" value={me} readOnly />
      <PasswordInput
        {...eye}
        label={t('password.current')}
        value={current}
        onChange={(event) => setCurrent(event.currentTarget.value)}
        autoComplete="current-password"
        required
        withAsterisk={false}
        maxLength={256}
      />
      <PasswordInput
        {...eye}
        label={t('password.new')}
        description={t('password.rule')}
        value={next}
        onChange={(event) => setNext(event.currentTarget.value)}
        autoComplete="new-password"
        required
        withAsterisk={false}
        maxLength={256}
      />
      <Checkbox
        label={t('password.endOthers')}
        checked={isEndingOthers}
        onChange={(event) => setEndingOthers(event.currentTarget.checked)}
      />
      <FormAnswer answer={answer} />
      <Button type="submit">{t('password.send')}</Button>
    </Stack>
  );
}
