/** One person's day beside the others': what takes their time, and the time of the entry over it. */
import { Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useChat } from '../../chat/chat-context.ts';
import { useName } from '../../chat/state/people.ts';
import { currentLocale } from '../../kit/language.ts';
import type { EntryForm } from '../entry/entry-form.ts';
import { addDays, clockWords, instantOf } from '../time.ts';
import type { Busy } from './free-busy.ts';

export interface BusyRowProps {
  readonly user: string;
  readonly form: EntryForm;
  readonly busy: Busy | undefined;
}

interface Part {
  readonly from: number;
  readonly to: number;
}

export function BusyRow({ busy, form, user }: BusyRowProps) {
  const { t } = useTranslation('calendar');
  const { people } = useChat();
  const name = useName(people, user);
  const day = form.start.slice(0, 10);
  const [from, to] = [`${day}T00:00`, `${addDays(day, 1)}T00:00`].map((wall) => Date.parse(instantOf(wall, form.zone)));
  const place = ({ from: start, to: end }: Part) => {
    const share = (at: number) => Math.min(1, Math.max(0, (at - (from ?? 0)) / ((to ?? 1) - (from ?? 0))));
    return { insetInlineStart: `${share(start) * 100}%`, width: `${(share(end) - share(start)) * 100}%` };
  };
  const own = ownTime(form);
  const periods = busy?.busy ?? [];
  const hit = periods.filter((one) => Date.parse(one.start_at) < own.to && Date.parse(one.end_at) > own.from);
  const state = hit.some((one) => !one.tentative && !one.unavailable) ? 'taken' : hit.length > 0 ? 'doubtful' : 'free';
  const locale = currentLocale();
  const clock = (instant: string) => clockWords(instant, locale, form.zone);
  const words = periods
    .filter((one) => !one.unavailable)
    .map((one) => `${clock(one.start_at)}–${clock(one.end_at)}`)
    .join(', ');
  return (
    <Group gap="xs" wrap="nowrap" className="parley-busy-row" data-busy={busy?.known === true ? state : 'unknown'}>
      <Text size="sm" truncate className="parley-busy-name">
        <bdi>{name}</bdi>
      </Text>
      <div className="parley-busy-day" aria-hidden="true">
        {periods.map((one) => (
          <div
            key={`${one.start_at}${one.unavailable}`}
            className="parley-busy-time"
            data-doubtful={one.tentative || one.unavailable || undefined}
            style={place({ from: Date.parse(one.start_at), to: Date.parse(one.end_at) })}
          />
        ))}
        <div className="parley-busy-own" style={place(own)} />
      </div>
      <Text size="xs" c="dimmed" className="parley-busy-words">
        {busy?.known === true ? t(`availability.${state}`) : t('availability.unknown')}
        {words === '' ? '' : ` (${words})`}
      </Text>
    </Group>
  );
}

function ownTime({ end, isAllDay, start, zone }: EntryForm): Part {
  if (!isAllDay) return { from: Date.parse(instantOf(start, zone)), to: Date.parse(instantOf(end, zone)) };
  const last = `${addDays(end.slice(0, 10), 1)}T00:00`;
  return { from: Date.parse(instantOf(`${start.slice(0, 10)}T00:00`, zone)), to: Date.parse(instantOf(last, zone)) };
}
