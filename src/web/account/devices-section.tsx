/** Where the person is signed in, and ending any of it. */
import { Badge, Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { OwnSession } from '#src/protocol/account/own-sessions.ts';
import { useChat } from '../chat/chat-context.ts';
import { momentOf } from '../chat/conversation-words.ts';
import { harmlessName } from '../kit/harmless-text.ts';
import { sentenceOf } from '../kit/language.ts';
import { FormAnswer, type Answer } from './form-answer.tsx';

export function DevicesSection() {
  const { t } = useTranslation();
  const { client } = useChat();
  const [sessions, setSessions] = useState<readonly OwnSession[]>();
  const [answer, setAnswer] = useState<Answer>();
  const fail = (thrown: unknown) => setAnswer({ text: sentenceOf(thrown), isDone: false });
  const read = () => client.account.call('listOwnSessions').then(({ items }) => setSessions(items), fail);
  useEffect(() => void read(), [client]);
  const end = async (session: string) => {
    try {
      await client.account.call('endOwnSession', { params: { session } });
      await read();
    } catch (thrown) {
      fail(thrown);
    }
  };
  if (sessions === undefined && answer === undefined) return <Skeleton height={60} />;
  return (
    <Stack gap="sm">
      {(sessions ?? []).map((session) => (
        <Group key={session.id} wrap="nowrap" justify="space-between">
          <div className="parley-person-words">
            <Text truncate>
              <bdi>{harmlessName(session.name, t('devices.unnamed'))}</bdi>
            </Text>
            <Text size="xs" c="dimmed">
              {t('devices.lastUsed', { at: momentOf(Date.parse(session.last_used_at)) })}
            </Text>
          </div>
          {session.is_current ? (
            <Badge variant="default">{t('devices.this')}</Badge>
          ) : (
            <Button variant="default" size="compact-sm" onClick={() => void end(session.id)}>
              {t('devices.end')}
            </Button>
          )}
        </Group>
      ))}
      <FormAnswer answer={answer} />
    </Stack>
  );
}
