/** Who is free on the day of an entry, side by side; a time that suits all; a room that is free then. */
import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useChat } from '../../chat/chat-context.ts';
import { harmlessName } from '../../kit/harmless-text.ts';
import { currentLocale, sentenceOf } from '../../kit/language.ts';
import { useCalendar } from '../calendar-context.ts';
import type { FieldsProps } from '../entry/fields-props.ts';
import { addDays, instantOf, minutesBetween, spanWords, wallOf } from '../time.ts';
import { BusyRow } from './busy-row.tsx';
import { findTimes, type Slot } from './find-times.ts';
import { useFreeBusy } from './free-busy.ts';
import type { CalendarReplyOf } from '#src/client/calendar-api.ts';

type Room = CalendarReplyOf<'listResources'>['items'][number];

const MINUTES_LEAST = 5;
const MINUTES_MOST = 1_440;

/** Colleagues and rooms: nobody knows of others when they are free. */
const isKnown = (who: string) => !who.includes(':');
const isRoom = (who: string) => who.startsWith('resource.');

export function AvailabilityPanel({ form, onChange }: FieldsProps) {
  const { t } = useTranslation('calendar');
  const { me } = useChat();
  const asked = [me, ...form.attendees.filter(isKnown)];
  const { busy, refused } = useFreeBusy(asked, form);
  if (asked.length === 1) return <Rooms form={form} onChange={onChange} />;
  return (
    <Stack gap="xs" component="section" aria-label={t('availability.name')}>
      <Text size="sm" fw={500}>
        {t('availability.name')}
      </Text>
      {asked.map((user) => (
        <BusyRow key={user} user={user} form={form} busy={busy.get(user)} />
      ))}
      {refused !== undefined && (
        <Alert color="red" role="alert">
          {refused}
        </Alert>
      )}
      <FindTime form={form} onChange={onChange} people={asked} />
      <Rooms form={form} onChange={onChange} />
    </Stack>
  );
}

/** The server's search for a time that suits all of them, from the day of the form on. */
function FindTime({ form, onChange, people }: FieldsProps & { readonly people: readonly string[] }) {
  const { t } = useTranslation('calendar');
  const { api } = useCalendar();
  const [slots, setSlots] = useState<readonly Slot[]>();
  const [refused, setRefused] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const find = async () => {
    const minutes = Math.min(MINUTES_MOST, Math.max(MINUTES_LEAST, minutesBetween(form.start, form.end)));
    setBusy(true);
    setRefused(undefined);
    try {
      const [rooms, guests] = [people.filter(isRoom), people.filter((who) => !isRoom(who))];
      const day = form.start.slice(0, 10);
      setSlots(await findTimes(api, { people: guests, rooms, minutes, day, zone: form.zone }));
    } catch (thrown) {
      setRefused(sentenceOf(thrown));
    }
    setBusy(false);
  };
  const take = ({ end_at: end, start_at: start }: Slot) => {
    onChange({ ...form, isAllDay: false, start: wallOf(start, form.zone), end: wallOf(end, form.zone) });
    setSlots(undefined);
  };
  return (
    <>
      <Group gap="xs">
        <Button size="compact-sm" variant="default" loading={isBusy} onClick={() => void find()}>
          {t('availability.find')}
        </Button>
      </Group>
      <div role="status">{slots?.length === 0 && <Text size="sm">{t('availability.none')}</Text>}</div>
      {refused !== undefined && (
        <Alert color="red" role="alert">
          {refused}
        </Alert>
      )}
      {slots !== undefined && slots.length > 0 && <Slots slots={slots} zone={form.zone} onTake={take} />}
    </>
  );
}

interface SlotsProps {
  readonly slots: readonly Slot[];
  readonly zone: string;
  readonly onTake: (slot: Slot) => void;
}

function Slots({ onTake, slots, zone }: SlotsProps) {
  const { t } = useTranslation('calendar');
  const { people } = useChat();
  const locale = currentLocale();
  const names = (users: readonly string[]) =>
    new Intl.ListFormat(locale).format(users.map((user) => people.nameOf(user)));
  return (
    <Stack gap={4} role="group" aria-label={t('availability.found')}>
      {slots.map((slot) => (
        <Group key={slot.start_at} gap="xs">
          <Button size="compact-sm" variant="light" onClick={() => onTake(slot)}>
            {spanWords({ all_day: false, start_at: slot.start_at, end_at: slot.end_at }, locale, zone)}
          </Button>
          {slot.doubtful.length > 0 && (
            <Text size="xs" c="dimmed">
              {t('availability.doubts', { names: names(slot.doubtful) })}
            </Text>
          )}
        </Group>
      ))}
    </Stack>
  );
}

/** Rooms that are free at the time of the form; one is booked by inviting it. */
function Rooms({ form, onChange }: FieldsProps) {
  const { t } = useTranslation('calendar');
  const { api } = useCalendar();
  const [rooms, setRooms] = useState<readonly Room[]>();
  const [refused, setRefused] = useState<string>();
  const find = async () => {
    setRefused(undefined);
    try {
      const span = form.isAllDay
        ? { start: `${form.start.slice(0, 10)}T00:00`, end: `${addDays(form.end.slice(0, 10), 1)}T00:00` }
        : form;
      const query = { from: instantOf(span.start, form.zone), to: instantOf(span.end, form.zone) };
      setRooms((await api.call('listResources', { params: {}, query })).items);
    } catch (thrown) {
      setRefused(sentenceOf(thrown));
    }
  };
  const free = rooms?.filter(({ user }) => !form.attendees.includes(user));
  return (
    <Stack gap={4} component="section" aria-label={t('rooms.name')}>
      <Group gap="xs">
        <Button size="compact-sm" variant="default" onClick={() => void find()}>
          {t('rooms.find')}
        </Button>
        <Text size="sm" role="status">
          {free?.length === 0 ? t('rooms.none') : ''}
        </Text>
      </Group>
      {refused !== undefined && (
        <Alert color="red" role="alert">
          {refused}
        </Alert>
      )}
      {free?.map(({ capacity, name, place, user }) => (
        <Group key={user} gap="xs">
          <Button
            size="compact-sm"
            variant="light"
            onClick={() =>
              onChange({ ...form, attendees: [...form.attendees, user], place: form.place === '' ? name : form.place })
            }
          >
            {t('rooms.take', { name: harmlessName(name) })}
          </Button>
          <Text size="xs" c="dimmed">
            {[place, capacity === null ? null : t('rooms.seats', { count: capacity })]
              .filter((part) => part !== null)
              .map((part) => harmlessName(part, ''))
              .join(' · ')}
          </Text>
        </Group>
      ))}
    </Stack>
  );
}
