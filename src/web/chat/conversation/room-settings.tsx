/** A room's name, topic and who finds it; a link that lets people in; leaving it. */
import { Alert, Button, Stack, Switch, TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { LogOut, Link2 } from 'lucide-react';
import { lazy, Suspense, useState, type SubmitEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { ConfirmDialog } from '../../kit/confirm-dialog.tsx';
import { CopyField } from '../../kit/copy-field.tsx';
import { sentenceOf } from '../../kit/language.ts';
import type { BodyOf } from '#src/client/calls.ts';
import { TITLE_LENGTH_MAX, TOPIC_LENGTH_MAX } from '#src/protocol/limits.ts';
import { useChat } from '../chat-context.ts';
import { useMay, useOpenConversation } from './open-conversation.ts';

const MeetingSection = lazy(async () => ({
  default: (await import('../../meetings/meeting-section.tsx')).MeetingSection,
}));

export function RoomSettings() {
  const may = useMay();
  return (
    <Stack p="sm" className="parley-beside-body">
      <NameForm />
      <Suspense>
        <MeetingSection />
      </Suspense>
      {may('participant.add') && <InviteLink />}
      {may('conversation.leave') && <Leave />}
    </Stack>
  );
}

function NameForm() {
  const { t } = useTranslation();
  const { client } = useChat();
  const { conv, conversation } = useOpenConversation();
  const may = useMay();
  const isPublic = conversation.visibility === 'organisation';
  const [title, setTitle] = useState(conversation.title ?? '');
  const [topic, setTopic] = useState(conversation.topic ?? '');
  const [answer, setAnswer] = useState<{ readonly text: string; readonly isDone: boolean }>();
  const mayName = may('title.change');
  const change = async (body: BodyOf<'changeConversation'>) => {
    try {
      await client.call('changeConversation', { params: { id: conv }, body });
      setAnswer({ text: t('app.saved'), isDone: true });
    } catch (thrown) {
      setAnswer({ text: sentenceOf(thrown), isDone: false });
    }
  };
  const save = (event: SubmitEvent) => {
    event.preventDefault();
    void change({ title, topic: topic.trim() === '' ? null : topic });
  };
  return (
    <Stack component="form" onSubmit={save} gap="sm">
      <TextInput
        label={t('room.name')}
        value={title}
        readOnly={!mayName}
        onChange={(event) => setTitle(event.currentTarget.value)}
        maxLength={TITLE_LENGTH_MAX}
      />
      <TextInput
        label={t('room.topic')}
        value={topic}
        readOnly={!mayName}
        onChange={(event) => setTopic(event.currentTarget.value)}
        maxLength={TOPIC_LENGTH_MAX}
      />
      {mayName && (
        <Button type="submit" disabled={title.trim() === ''}>
          {t('app.save')}
        </Button>
      )}
      <Switch
        label={t('room.public')}
        description={t('room.publicWhat')}
        checked={isPublic}
        disabled={!may('visibility.change')}
        onChange={(event) => void change({ visibility: event.currentTarget.checked ? 'organisation' : 'private' })}
      />
      {answer !== undefined && (
        <Alert color={answer.isDone ? 'green' : 'red'} role={answer.isDone ? 'status' : 'alert'} p="xs">
          {answer.text}
        </Alert>
      )}
    </Stack>
  );
}

/** The link is in the answer alone: who loses it makes another one. */
function InviteLink() {
  const { t } = useTranslation();
  const { client } = useChat();
  const { complain, conv } = useOpenConversation();
  const [link, setLink] = useState<string>();
  const make = () => {
    const base = `${location.origin}${location.pathname}`;
    client.makeRoomLink(conv).then((made) => setLink(`${base}#/join/${made.link}`), complain);
  };
  if (link === undefined) {
    return (
      <Button variant="default" leftSection={<Link2 size={16} />} onClick={make}>
        {t('room.makeLink')}
      </Button>
    );
  }
  return <CopyField label={t('room.link')} description={t('room.linkOnce')} value={link} />;
}

function Leave() {
  const { t } = useTranslation();
  const { client, inbox, me } = useChat();
  const { complain, conv } = useOpenConversation();
  const navigate = useNavigate();
  const [isAsking, setAsking] = useState(false);
  const leave = async () => {
    await client.call('removeParticipant', { params: { id: conv, username: me } });
    inbox.refresh();
    await navigate({ to: '/' });
  };
  return (
    <>
      <Button variant="default" leftSection={<LogOut size={16} />} onClick={() => setAsking(true)}>
        {t('room.leave')}
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        title={t('room.leaveTitle')}
        words={t('room.leaveWhat')}
        action={t('room.leave')}
        onConfirm={() => void leave().catch(complain)}
        onClose={() => setAsking(false)}
      />
    </>
  );
}
