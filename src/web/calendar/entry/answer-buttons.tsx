/** The three answers to an invitation; the one that was given is pressed. */
import { Button, Group } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useChat } from '../../chat/chat-context.ts';
import { useObserved } from '../../kit/observable.ts';
import { useCalendar } from '../calendar-context.ts';
import type { Entry } from './entry-form.ts';

const ANSWERS = ['accepted', 'tentative', 'declined'] as const;
export type Answer = (typeof ANSWERS)[number];

export interface AnswerButtonsProps {
  readonly calendar: string;
  readonly entry: Entry;
  readonly onAnswered?: (entry: Entry) => void;
}

export function AnswerButtons({ calendar, entry, onAnswered }: AnswerButtonsProps) {
  const { t } = useTranslation('calendar');
  const { api, invitations, list, notices, occurrences } = useCalendar();
  const { me } = useChat();
  const asked = useObserved(list, () => list.byId(calendar)?.owner) ?? me;
  const [sending, setSending] = useState<Answer>();
  const given = entry.attendees.find(({ user }) => user === asked)?.answer;
  const send = async (answer: Answer) => {
    setSending(answer);
    try {
      const answered = await api.call('answerInvitation', { params: { calendar, entry: entry.id }, body: { answer } });
      onAnswered?.(answered.entry);
      notices.say(t(`answer.said.${answer}`));
      void occurrences.again(calendar);
      await invitations.load();
    } catch (thrown) {
      notices.refuse(thrown);
    }
    setSending(undefined);
  };
  return (
    <Group gap={6} mt="xs" role="group" aria-label={t('answer.name')}>
      {ANSWERS.map((answer) => (
        <Button
          key={answer}
          size="compact-sm"
          variant={given === answer ? 'filled' : 'default'}
          aria-pressed={given === answer}
          loading={sending === answer}
          disabled={sending !== undefined && sending !== answer}
          onClick={() => void send(answer)}
        >
          {t(`answer.${answer}`)}
        </Button>
      ))}
    </Group>
  );
}
