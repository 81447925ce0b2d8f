/** How often an entry comes again: one of the common rules, how many of them, and until when. */
import { Chip, Grid, Group, Input, NumberInput, Select, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { currentLocale } from '../../kit/language.ts';
import { dayWords } from '../time.ts';
import type { FieldsProps } from './fields-props.ts';
import { frequencyOf, WEEKDAYS, type Repeat, type RepeatKind } from './repeat.ts';
import { kindWords, weekdayWords } from './repeat-words.ts';

const KINDS: readonly RepeatKind[] = ['never', 'daily', 'weekly', 'monthly', 'monthly_weekday', 'yearly'];
const ENDS = ['never', 'until', 'count'] as const;
const INTERVAL_MAX = 1_000;
const COUNT_MAX = 10_000;

export function RepeatField({ form, onChange }: FieldsProps) {
  const { t } = useTranslation('calendar');
  const { repeat, start } = form;
  const locale = currentLocale();
  const set = (part: Partial<Repeat>) => onChange({ ...form, repeat: { ...repeat, ...part } });
  const kinds = repeat.kind === 'other' ? [...KINDS, 'other' as const] : KINDS;
  return (
    <>
      <Select
        label={t('repeat.name')}
        allowDeselect={false}
        data={kinds.map((value) => ({ value, label: kindWords(value, start, locale, t) }))}
        value={repeat.kind}
        onChange={(value) => set({ kind: kinds.find((one) => one === value) ?? 'never' })}
      />
      {repeat.kind === 'weekly' && <Days repeat={repeat} onChange={set} locale={locale} />}
      <Extent repeat={repeat} onChange={set} start={start} />
    </>
  );
}

interface PartProps {
  readonly repeat: Repeat;
  readonly onChange: (part: Partial<Repeat>) => void;
}

function Days({ locale, onChange, repeat }: PartProps & { readonly locale: string }) {
  const { t } = useTranslation('calendar');
  return (
    <Input.Wrapper label={t('repeat.days')} labelElement="div">
      <Chip.Group
        multiple
        value={[...repeat.days]}
        onChange={(days) => onChange({ days: WEEKDAYS.filter((day) => days.includes(day)) })}
      >
        <Group gap={6} role="group" aria-label={t('repeat.days')}>
          {WEEKDAYS.map((day, at) => (
            <Chip key={day} value={day} size="xs">
              {weekdayWords(at, locale, 'short')}
            </Chip>
          ))}
        </Group>
      </Chip.Group>
    </Input.Wrapper>
  );
}

function Extent({ onChange, repeat, start }: PartProps & { readonly start: string }) {
  const { t } = useTranslation('calendar');
  if (repeat.kind === 'never' || repeat.kind === 'other') return null;
  const number = (value: number | string, least: number) =>
    typeof value === 'number' ? Math.max(least, value) : least;
  return (
    <Grid gap="sm">
      <Grid.Col span={{ base: 6, sm: 4 }}>
        <NumberInput
          label={t(`repeat.interval.${frequencyOf(repeat.kind)}`)}
          min={1}
          max={INTERVAL_MAX}
          allowDecimal={false}
          hideControls
          value={repeat.interval}
          onChange={(value) => onChange({ interval: number(value, 1) })}
        />
      </Grid.Col>
      <Grid.Col span={{ base: 6, sm: 4 }}>
        <Select
          label={t('repeat.end')}
          allowDeselect={false}
          data={ENDS.map((value) => ({ value, label: t(`repeat.end.${value}`) }))}
          value={repeat.end}
          onChange={(value) => onChange({ end: ENDS.find((one) => one === value) ?? 'never' })}
        />
      </Grid.Col>
      <Grid.Col span={{ base: 12, sm: 4 }}>
        {repeat.end === 'until' && (
          <TextInput
            type="date"
            label={t('repeat.until')}
            min={start.slice(0, 10)}
            value={repeat.until}
            description={dayWords(repeat.until, currentLocale(), 'medium')}
            onChange={({ currentTarget: { value } }) => value !== '' && onChange({ until: value })}
          />
        )}
        {repeat.end === 'count' && (
          <NumberInput
            label={t('repeat.count')}
            min={1}
            max={COUNT_MAX}
            allowDecimal={false}
            hideControls
            value={repeat.count}
            onChange={(value) => onChange({ count: number(value, 1) })}
          />
        )}
      </Grid.Col>
    </Grid>
  );
}
