/** Another time, proposed by somebody who is invited to who organises: the form of it, and what the server says against it. */
import { Alert, Button, Group, Modal, Stack, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { RSVP_COMMENT_LENGTH_MAX } from '#src/protocol/limits.ts';
import { useChat } from '../../chat/chat-context.ts';
import { harmlessName } from '../../kit/harmless-text.ts';
import { sentenceOf } from '../../kit/language.ts';
import { useCalendar } from '../calendar-context.ts';
import { formOf, isBackwards, whenOf, type FormTimes } from './entry-form.ts';
import type { OpenEntry } from './open-entry.ts';
import { TimeFields } from './time-fields.tsx';

/** Sending what is written; refused, it stays in the form with the sentence that says why. */
function useProposing({ place }: OpenEntry, onDone: () => void) {
  const { t } = useTranslation('calendar');
  const { api, notices } = useCalendar();
  const [refused, setRefused] = useState<string>();
  const [isSending, setSending] = useState(false);
  const send = async (times: FormTimes, comment: string) => {
    setSending(true);
    setRefused(undefined);
    const { calendar_id: calendar, entry_id: entry, recurrence_id: recurrenceId } = place;
    const one = recurrenceId === undefined ? {} : { recurrence_id: recurrenceId };
    const body = { ...whenOf(times), ...one, comment: comment.trim() };
    try {
      await api.call('proposeTime', { params: { calendar, entry }, body });
      notices.say(t('propose.said'));
      onDone();
    } catch (thrown) {
      setRefused(sentenceOf(thrown));
      setSending(false);
    }
  };
  return { isSending, refused, send };
}

export function ProposeTime({ open }: { readonly open: OpenEntry }) {
  const { t } = useTranslation('calendar');
  const { open: show, zone } = useCalendar();
  const { me } = useChat();
  const { entry, place, series } = open;
  const [times, setTimes] = useState<FormTimes>(() => formOf(entry, series, zone, me));
  const [comment, setComment] = useState('');
  const back = () => show({ kind: 'details', place });
  const { isSending, refused, send } = useProposing(open, () => show(undefined));
  return (
    <Modal
      opened
      onClose={back}
      title={<bdi>{t('proposal.name', { title: harmlessName(entry.title, t('untitled')) })}</bdi>}
      size="lg"
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send(times, comment);
        }}
      >
        <Stack gap="sm">
          <Text size="sm" c="dimmed">
            {t(series.recurring && place.recurrence_id === undefined ? 'propose.whatSeries' : 'propose.what')}
          </Text>
          <TimeFields times={times} onChange={(part) => setTimes({ ...times, ...part })} />
          <CommentField comment={comment} onChange={setComment} />
          {refused !== undefined && (
            <Alert color="red" role="alert">
              {refused}
            </Alert>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={back}>
              {t('cancel')}
            </Button>
            <Button type="submit" loading={isSending} disabled={isBackwards(times)}>
              {t('propose.send')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

interface CommentFieldProps {
  readonly comment: string;
  readonly onChange: (comment: string) => void;
}

function CommentField({ comment, onChange }: CommentFieldProps) {
  const { t } = useTranslation('calendar');
  return (
    <Textarea
      label={t('propose.comment')}
      value={comment}
      maxLength={RSVP_COMMENT_LENGTH_MAX}
      autosize
      minRows={2}
      maxRows={6}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
