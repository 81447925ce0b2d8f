/** Where a meeting's link leads: joining is asked, since opening a link decides nothing; then in, or waiting for the host. */
import { Button, Group, Loader, Text } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import { CircleAlert, DoorOpen, Hourglass, Phone, Video } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useChat } from '../chat/chat-context.ts';
import { EmptyState } from '../kit/empty-state.tsx';
import { harmlessName } from '../kit/harmless-text.ts';
import { sentenceOf } from '../kit/language.ts';

/** How somebody comes: into the call with or without a camera, or to the messages alone. */
type Way = 'video' | 'voice' | 'room';

type Standing =
  | { readonly phase: 'asking'; readonly isBusy: boolean }
  | { readonly phase: 'waiting'; readonly title: string; readonly way: Way }
  | { readonly phase: 'refused'; readonly why: string };

export function MeetingScreen({ link }: { readonly link: string }) {
  const { again, send, standing } = useEntrance(link);
  switch (standing.phase) {
    case 'asking':
      return <Asking isBusy={standing.isBusy} onSend={send} />;
    case 'waiting':
      return <Waiting title={standing.title} />;
    case 'refused':
      return <Refused why={standing.why} onAgain={again} />;
    default:
      return standing satisfies never;
  }
}

interface Entrance {
  readonly standing: Standing;
  readonly send: (way: Way) => void;
  readonly again: () => void;
}

function useEntrance(link: string): Entrance {
  const { calls, client, inbox } = useChat();
  const navigate = useNavigate();
  const [standing, setStanding] = useState<Standing>({ phase: 'asking', isBusy: false });
  const join = async (way: Way) => {
    try {
      const entrance = await client.meetings.join(link);
      if (entrance.status === 'waiting') return setStanding({ phase: 'waiting', title: entrance.title, way });
      const { conversation } = entrance;
      inbox.refresh();
      await navigate({ to: '/c/$conv', params: { conv: conversation.id }, replace: true });
      if (way !== 'room') await (await calls.open()).meet(conversation, way === 'video');
    } catch (thrown) {
      setStanding({ phase: 'refused', why: sentenceOf(thrown) });
    }
  };
  const waitingFor = standing.phase === 'waiting' ? standing.way : undefined;
  useEffect(() => {
    if (waitingFor === undefined) return undefined;
    // Which meeting it is, nobody tells who waits: whatever happens to a meeting is a reason to ask.
    const ask = () => void join(waitingFor);
    const off = [
      client.on('membership', ({ data }) => {
        if ('meeting_id' in data) ask();
      }),
      client.on('caught-up', ask),
    ];
    return () => off.forEach((unsubscribe) => unsubscribe());
    // A screen is of one link, and whoever waits, waits on in one way.
  }, [client, link, waitingFor]);
  return {
    standing,
    send: (way) => {
      setStanding({ phase: 'asking', isBusy: true });
      void join(way);
    },
    again: () => setStanding({ phase: 'asking', isBusy: false }),
  };
}

function Asking({ isBusy, onSend }: { readonly isBusy: boolean; readonly onSend: (way: Way) => void }) {
  const { t } = useTranslation();
  return (
    <EmptyState icon={<DoorOpen size={48} />} title={t('meeting.join.title')}>
      <Text maw={440}>{t('meeting.join.what')}</Text>
      <Group justify="center">
        <Button leftSection={<Video size={18} />} loading={isBusy} onClick={() => onSend('video')}>
          {t('meeting.join.video')}
        </Button>
        <Button variant="default" leftSection={<Phone size={18} />} disabled={isBusy} onClick={() => onSend('voice')}>
          {t('meeting.join.voice')}
        </Button>
      </Group>
      <Button variant="subtle" disabled={isBusy} onClick={() => onSend('room')}>
        {t('meeting.join.room')}
      </Button>
    </EmptyState>
  );
}

function Waiting({ title }: { readonly title: string }) {
  const { t } = useTranslation();
  return (
    <EmptyState icon={<Hourglass size={48} />} title={t('meeting.wait.title')}>
      <Text role="status" maw={440}>
        {t('meeting.wait.what', { title: harmlessName(title, t('meeting.title')) })}
      </Text>
      <Loader type="dots" aria-hidden="true" />
      <Button variant="default" component={Link} to="/">
        {t('meeting.wait.leave')}
      </Button>
    </EmptyState>
  );
}

function Refused({ onAgain, why }: { readonly why: string; readonly onAgain: () => void }) {
  const { t } = useTranslation();
  return (
    <EmptyState icon={<CircleAlert size={48} />} title={t('meeting.refused.title')}>
      <Text role="alert">{why}</Text>
      <Group justify="center">
        <Button onClick={onAgain}>{t('app.retry')}</Button>
        <Button variant="subtle" component={Link} to="/">
          {t('app.toList')}
        </Button>
      </Group>
    </EmptyState>
  );
}
