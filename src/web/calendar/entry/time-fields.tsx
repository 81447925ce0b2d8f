/** When something is, as it is written: days or hours, and the zone of the clock. */
import { Checkbox, Grid, Select, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { addMinutes, minutesBetween, zonesWith } from '../time.ts';
import { isBackwards, type FormTimes } from './entry-form.ts';

/** The end goes along when the start is moved. */
function moved({ end, start: before }: FormTimes, start: string): Partial<FormTimes> {
  if (Number.isNaN(Date.parse(start))) return {};
  return { start, end: addMinutes(end, minutesBetween(before, start)) };
}

export interface TimeFieldsProps {
  readonly times: FormTimes;
  readonly onChange: (part: Partial<FormTimes>) => void;
}

/** Whole days or hours of a zone, from when to when. */
export function TimeFields({ onChange: set, times }: TimeFieldsProps) {
  const { t } = useTranslation('calendar');
  const { end, isAllDay, start, zone } = times;
  const isWrong = isBackwards(times);
  const day = (value: string, wall: string) => (value === '' ? wall : `${value}${wall.slice(10)}`);
  const clock = (value: string, wall: string) => (value === '' ? wall : `${wall.slice(0, 11)}${value.slice(0, 5)}`);
  const width = isAllDay ? 6 : 3;
  const startDay = (value: string) => set(moved(times, day(value, start)));
  const startTime = (value: string) => set(moved(times, clock(value, start)));
  return (
    <>
      <Checkbox
        label={t('form.allDay')}
        checked={isAllDay}
        onChange={(event) => set({ isAllDay: event.currentTarget.checked })}
      />
      <Grid gap="sm">
        <TimeField type="date" span={width} label={t('form.startDay')} value={start.slice(0, 10)} onChange={startDay} />
        {!isAllDay && (
          <TimeField type="time" span={3} label={t('form.startTime')} value={start.slice(11)} onChange={startTime} />
        )}
        <TimeField
          type="date"
          span={width}
          label={t('form.endDay')}
          value={end.slice(0, 10)}
          onChange={(value) => set({ end: day(value, end) })}
          error={isWrong ? t('form.backwards') : undefined}
        />
        {!isAllDay && (
          <TimeField
            type="time"
            span={3}
            label={t('form.endTime')}
            value={end.slice(11)}
            onChange={(value) => set({ end: clock(value, end) })}
          />
        )}
      </Grid>
      {!isAllDay && (
        <Select
          label={t('form.zone')}
          searchable
          allowDeselect={false}
          data={zonesWith(zone)}
          value={zone}
          limit={200}
          onChange={(value) => value !== null && set({ zone: value })}
        />
      )}
    </>
  );
}

interface TimeFieldProps {
  readonly type: 'date' | 'time';
  readonly span: number;
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error?: string | undefined;
}

function TimeField({ error, label, onChange, span, type, value }: TimeFieldProps) {
  return (
    <Grid.Col span={{ base: 6, sm: span }}>
      <TextInput
        type={type}
        label={label}
        value={value}
        required
        withAsterisk={false}
        error={error}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    </Grid.Col>
  );
}
