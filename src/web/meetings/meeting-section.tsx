/** What a room's settings say of the meeting that it is of: the link for everybody in it, the rest for its host. */
import { Alert, Button, Fieldset, Select, Stack, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Meeting } from '#src/client/meetings.ts';
import { useChat } from '../chat/chat-context.ts';
import { useOpenConversation } from '../chat/conversation/open-conversation.ts';
import { useName } from '../chat/state/people.ts';
import { ConfirmDialog } from '../kit/confirm-dialog.tsx';
import { CopyField } from '../kit/copy-field.tsx';
import { addWords, sentenceOf } from '../kit/language.ts';
import { LOBBY_WAYS } from './lobby-ways.ts';
import { addressOfMeeting } from './meeting-address.ts';
import { MEETING_WORDS } from './meeting-words.ts';

export function MeetingSection() {
  const { client } = useChat();
  const { conv } = useOpenConversation();
  const [meeting, setMeeting] = useState<Meeting>();
  useEffect(() => {
    const read = () => {
      Promise.all([client.meetings.ofRoom(conv), addWords(MEETING_WORDS)]).then(
        ([found]) => setMeeting(found),
        // Most rooms are of no meeting: nothing is said where it could not be asked.
        () => undefined,
      );
    };
    read();
    return client.on('membership', ({ data }) => {
      if ('meeting_id' in data) read();
    });
  }, [client, conv]);
  return meeting === undefined ? null : <Shown meeting={meeting} onChanged={setMeeting} />;
}

interface ShownProps {
  readonly meeting: Meeting;
  readonly onChanged: (meeting: Meeting) => void;
}

function Shown({ meeting, onChanged }: ShownProps) {
  const { t } = useTranslation();
  const { me, people } = useChat();
  const host = useName(people, meeting.host);
  const isHost = meeting.host === me;
  if (meeting.state === 'cancelled') {
    return (
      <Text size="sm" c="dimmed">
        {t('meeting.over')}
      </Text>
    );
  }
  return (
    <Fieldset legend={t('meeting.title')} p="sm">
      <Stack gap="sm">
        <CopyField
          label={t('meeting.link')}
          description={t('meeting.linkWhat')}
          value={addressOfMeeting(meeting.link)}
        />
        {isHost ? (
          <ForHost meeting={meeting} onChanged={onChanged} />
        ) : (
          <Text size="sm">{t('meeting.hostedBy', { name: host })}</Text>
        )}
      </Stack>
    </Fieldset>
  );
}

function ForHost({ meeting, onChanged }: ShownProps) {
  const { t } = useTranslation();
  const { client, me, people } = useChat();
  const [refused, setRefused] = useState<string>();
  const params = { meeting: meeting.id };
  const take = (change: Promise<Meeting>) => {
    setRefused(undefined);
    change.then(onChanged, (thrown: unknown) => setRefused(sentenceOf(thrown)));
  };
  const others = meeting.participants.filter((user) => user !== me);
  return (
    <>
      <Button
        variant="default"
        title={t('meeting.renewWhat')}
        onClick={() => take(client.meetings.call('renewMeetingLink', { params }))}
      >
        {t('meeting.renew')}
      </Button>
      <Select
        label={t('meeting.lobby')}
        value={meeting.lobby}
        allowDeselect={false}
        onChange={(lobby) => lobby !== null && take(client.meetings.call('changeMeeting', { params, body: { lobby } }))}
        data={LOBBY_WAYS.map((value) => ({ value, label: t(`meeting.lobby.${value}`) }))}
      />
      {others.length > 0 && (
        <Select
          label={t('meeting.handOver')}
          value={null}
          searchable
          onChange={(user) =>
            user !== null && take(client.meetings.call('handOverMeeting', { params, body: { user } }))
          }
          data={others.map((user) => ({ value: user, label: people.nameOf(user) }))}
        />
      )}
      <EndMeeting onEnd={() => take(client.meetings.call('cancelMeeting', { params }))} />
      {refused !== undefined && (
        <Alert color="red" role="alert" p="xs">
          {refused}
        </Alert>
      )}
    </>
  );
}

/** Asks first: everybody's call ends with it. */
function EndMeeting({ onEnd }: { readonly onEnd: () => void }) {
  const { t } = useTranslation();
  const [isEnding, setEnding] = useState(false);
  return (
    <>
      <Button variant="default" onClick={() => setEnding(true)}>
        {t('meeting.end')}
      </Button>
      <ConfirmDialog
        isOpen={isEnding}
        title={t('meeting.endTitle')}
        words={t('meeting.endWhat')}
        action={t('meeting.end')}
        onConfirm={onEnd}
        onClose={() => setEnding(false)}
      />
    </>
  );
}
