/** Whom a calendar is shared with, and what each of them may. */
import { ActionIcon, Alert, Group, Modal, Select, Stack, Text } from '@mantine/core';
import { X } from 'lucide-react';
import { useCallback, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CalendarReplyOf } from '#src/client/calendar-api.ts';
import { useChat } from '../../chat/chat-context.ts';
import { PeoplePicker } from '../../chat/people/people-picker.tsx';
import { useName } from '../../chat/state/people.ts';
import { sentenceOf } from '../../kit/language.ts';
import { useCalendar } from '../calendar-context.ts';

type Share = CalendarReplyOf<'listCalendarShares'>['items'][number];
const RIGHTS = ['free_busy', 'read', 'write', 'delegate'] as const satisfies readonly Share['access'][];

export function ShareDialog({ calendar }: { readonly calendar: string }) {
  const { t } = useTranslation('calendar');
  const { api, open } = useCalendar();
  const { me } = useChat();
  const [shares, setShares] = useState<readonly Share[]>([]);
  const [refused, setRefused] = useState<string>();
  const load = useCallback(async () => {
    try {
      setShares((await api.call('listCalendarShares', { params: { calendar } })).items);
    } catch (thrown) {
      setRefused(sentenceOf(thrown));
    }
  }, [api, calendar]);
  useEffect(() => void load(), [load]);
  const carryOut = async (action: () => Promise<unknown>) => {
    setRefused(undefined);
    try {
      await action();
    } catch (thrown) {
      setRefused(sentenceOf(thrown));
    }
    await load();
  };
  const put = (username: string, access: Share['access']) =>
    void carryOut(() => api.call('putCalendarShare', { params: { calendar, username }, body: { access } }));
  const end = (username: string) =>
    void carryOut(() => api.call('deleteCalendarShare', { params: { calendar, username } }));
  return (
    <Modal
      opened
      onClose={() => open(undefined)}
      title={t('manage.share')}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <Stack>
        {shares.length === 0 && (
          <Text size="sm" c="dimmed">
            {t('share.nobody')}
          </Text>
        )}
        {shares.map((share) => (
          <ShareRow key={share.user} share={share} onPut={put} onEnd={end} />
        ))}
        {refused !== undefined && (
          <Alert color="red" role="alert">
            {refused}
          </Alert>
        )}
        <PeoplePicker without={[me, ...shares.map(({ user }) => user)]} onPick={({ user }) => put(user, 'read')} />
      </Stack>
    </Modal>
  );
}

interface ShareRowProps {
  readonly share: Share;
  readonly onPut: (user: string, access: Share['access']) => void;
  readonly onEnd: (user: string) => void;
}

function ShareRow({ onEnd, onPut, share: { access, user } }: ShareRowProps) {
  const { t } = useTranslation('calendar');
  const { people } = useChat();
  const name = useName(people, user);
  return (
    <Group gap="xs" wrap="nowrap">
      <Text flex={1} truncate>
        <bdi>{name}</bdi>
      </Text>
      <Select
        aria-label={t('share.right', { name })}
        allowDeselect={false}
        data={RIGHTS.map((value) => ({ value, label: t(`share.access.${value}`) }))}
        value={access}
        onChange={(value) => {
          const chosen = RIGHTS.find((one) => one === value);
          if (chosen !== undefined) onPut(user, chosen);
        }}
      />
      <ActionIcon variant="subtle" color="gray" aria-label={t('share.end', { name })} onClick={() => onEnd(user)}>
        <X size={16} />
      </ActionIcon>
    </Group>
  );
}
