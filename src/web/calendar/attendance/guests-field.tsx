/** Who is invited: colleagues found by name, and anybody else by address. */
import { Button, Group, Pill, Stack, TextInput, Title } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useChat } from '../../chat/chat-context.ts';
import { PeoplePicker } from '../../chat/people/people-picker.tsx';
import { useObserved } from '../../kit/observable.ts';
import { harmlessName } from '../../kit/harmless-text.ts';
import type { FieldsProps } from '../entry/fields-props.ts';

/** As the server takes addresses. */
const ADDRESS = /^[^\s@:"<>,;]{1,64}@[^\s@:"<>,;]{1,190}$/u;

export function GuestsField({ form, onChange }: FieldsProps) {
  const { t } = useTranslation('calendar');
  const { me } = useChat();
  const { attendees } = form;
  const set = (next: readonly string[]) => onChange({ ...form, attendees: [...new Set(next)] });
  return (
    <Stack gap="xs" component="section" aria-label={t('people.name')}>
      <Title order={3} size="sm" fw={500}>
        {t('people.name')}
      </Title>
      <Group gap={6}>
        {attendees.map((who) => (
          <Guest key={who} who={who} onRemove={() => set(attendees.filter((one) => one !== who))} />
        ))}
      </Group>
      <PeoplePicker without={[me, ...attendees]} onPick={({ user }) => set([...attendees, user])} />
      <OtherAddress onAdd={(address) => set([...attendees, `mailto:${address}`])} />
    </Stack>
  );
}

function Guest({ onRemove, who }: { readonly who: string; readonly onRemove: () => void }) {
  const { t } = useTranslation('calendar');
  const { people } = useChat();
  const isColleague = !who.includes(':') && !who.startsWith('resource.');
  const name = useObserved(people, () =>
    isColleague ? people.nameOf(who) : harmlessName(who.replace(/^mailto:/i, '')),
  );
  return (
    <Pill
      withRemoveButton
      onRemove={onRemove}
      removeButtonProps={{ 'aria-label': t('people.remove', { name }), tabIndex: 0 }}
    >
      <bdi>{name}</bdi>
    </Pill>
  );
}

function OtherAddress({ onAdd }: { readonly onAdd: (address: string) => void }) {
  const { t } = useTranslation('calendar');
  const [address, setAddress] = useState('');
  const [isWrong, setWrong] = useState(false);
  const add = () => {
    const written = address.trim();
    if (!ADDRESS.test(written)) return setWrong(true);
    onAdd(written);
    setAddress('');
    return setWrong(false);
  };
  return (
    <Group gap="xs" align="flex-start" wrap="nowrap">
      <TextInput
        flex={1}
        type="text"
        inputMode="email"
        label={t('people.address')}
        value={address}
        error={isWrong ? t('people.notAddress') : undefined}
        onChange={(event) => setAddress(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          add();
        }}
      />
      <Button variant="default" mt={25} onClick={add} disabled={address.trim() === ''}>
        {t('people.add')}
      </Button>
    </Group>
  );
}
