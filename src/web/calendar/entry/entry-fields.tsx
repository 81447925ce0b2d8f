/** The fields of an entry. */
import { Checkbox, Grid, Select, Stack, Textarea, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { harmlessName } from '../../kit/harmless-text.ts';
import { useCalendar } from '../calendar-context.ts';
import { AvailabilityPanel } from '../attendance/availability-panel.tsx';
import { GuestsField } from '../attendance/guests-field.tsx';
import { mayWrite } from '../state/calendar-list.ts';
import { addMinutes, minutesBetween, zonesWith } from '../time.ts';
import { isBackwards, type EntryForm, type Visibility } from './entry-form.ts';
import { RemindersField } from './reminders-field.tsx';
import { RepeatField } from './repeat-field.tsx';
import type { FieldsProps } from './fields-props.ts';

const TITLE_LENGTH_MAX = 500;
const PLACE_LENGTH_MAX = 1_000;
const DESCRIPTION_LENGTH_MAX = 32_000;

export function EntryFields({ form, isNew, onChange }: FieldsProps & { readonly isNew: boolean }) {
  const { t } = useTranslation('calendar');
  const set = (part: Partial<EntryForm>) => onChange({ ...form, ...part });
  return (
    <Stack gap="sm">
      <TextInput
        data-autofocus
        label={t('form.name')}
        value={form.title}
        maxLength={TITLE_LENGTH_MAX}
        onChange={(event) => set({ title: event.currentTarget.value })}
      />
      <TimeFields form={form} onChange={onChange} />
      <RepeatField form={form} onChange={onChange} />
      <GuestsField form={form} onChange={onChange} />
      <AvailabilityPanel form={form} onChange={onChange} />
      <Checkbox
        label={t('form.meeting')}
        description={t('form.meetingWhat')}
        checked={form.hasMeeting}
        onChange={(event) => set({ hasMeeting: event.currentTarget.checked })}
      />
      <TextInput
        label={t('form.place')}
        value={form.place}
        maxLength={PLACE_LENGTH_MAX}
        onChange={(event) => set({ place: event.currentTarget.value })}
      />
      <Textarea
        label={t('form.description')}
        value={form.description}
        maxLength={DESCRIPTION_LENGTH_MAX}
        autosize
        minRows={2}
        maxRows={8}
        onChange={(event) => set({ description: event.currentTarget.value })}
      />
      <RemindersField form={form} onChange={onChange} />
      <Standing form={form} onChange={onChange} isNew={isNew} />
    </Stack>
  );
}

/** The end goes along when the start is moved. */
function moved(form: EntryForm, start: string): Partial<EntryForm> {
  if (Number.isNaN(Date.parse(start))) return {};
  return { start, end: addMinutes(form.end, minutesBetween(form.start, start)) };
}

function TimeFields({ form, onChange }: FieldsProps) {
  const { t } = useTranslation('calendar');
  const set = (part: Partial<EntryForm>) => onChange({ ...form, ...part });
  const { end, isAllDay, start, zone } = form;
  const isWrong = isBackwards(form);
  const day = (value: string, wall: string) => (value === '' ? wall : `${value}${wall.slice(10)}`);
  const clock = (value: string, wall: string) => (value === '' ? wall : `${wall.slice(0, 11)}${value.slice(0, 5)}`);
  const width = isAllDay ? 6 : 3;
  const startDay = (value: string) => set(moved(form, day(value, start)));
  const startTime = (value: string) => set(moved(form, clock(value, start)));
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

const VISIBILITIES: readonly Visibility[] = ['public', 'confidential', 'private'];

/** Where it goes, and how it stands there. An entry stays in the calendar that it is in. */
function Standing({ form, isNew, onChange }: FieldsProps & { readonly isNew: boolean }) {
  const { t } = useTranslation('calendar');
  const { list } = useCalendar();
  const set = (part: Partial<EntryForm>) => onChange({ ...form, ...part });
  const calendars = list.items.filter((one) => mayWrite(one) || one.id === form.calendar);
  return (
    <Grid gap="sm">
      <Grid.Col span={{ base: 12, sm: 4 }}>
        <Select
          label={t('form.calendar')}
          allowDeselect={false}
          disabled={!isNew}
          data={calendars.map(({ displayname, id }) => ({
            value: id,
            label: harmlessName(displayname, t('untitled')),
          }))}
          value={form.calendar}
          onChange={(value) => value !== null && set({ calendar: value })}
        />
      </Grid.Col>
      <Grid.Col span={{ base: 12, sm: 4 }}>
        <Select
          label={t('form.show')}
          allowDeselect={false}
          data={[
            { value: 'busy', label: t('form.showBusy') },
            { value: 'free', label: t('form.showFree') },
          ]}
          value={form.isBusy ? 'busy' : 'free'}
          onChange={(value) => set({ isBusy: value === 'busy' })}
        />
      </Grid.Col>
      <Grid.Col span={{ base: 12, sm: 4 }}>
        <Select
          label={t('form.visibility')}
          allowDeselect={false}
          data={VISIBILITIES.map((value) => ({ value, label: t(`form.visibility.${value}`) }))}
          value={form.visibility}
          onChange={(value) => set({ visibility: VISIBILITIES.find((one) => one === value) ?? 'public' })}
        />
      </Grid.Col>
    </Grid>
  );
}
