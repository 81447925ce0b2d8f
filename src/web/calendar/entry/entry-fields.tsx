/** The fields of an entry. */
import { Checkbox, Grid, Select, Stack, Textarea, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { harmlessName } from '../../kit/harmless-text.ts';
import { useCalendar } from '../calendar-context.ts';
import { AvailabilityPanel } from '../attendance/availability-panel.tsx';
import { GuestsField } from '../attendance/guests-field.tsx';
import { mayWrite } from '../state/calendar-list.ts';
import type { EntryForm, Visibility } from './entry-form.ts';
import { RemindersField } from './reminders-field.tsx';
import { RepeatField } from './repeat-field.tsx';
import type { FieldsProps } from './fields-props.ts';
import { TimeFields } from './time-fields.tsx';

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
      <TimeFields times={form} onChange={set} />
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
