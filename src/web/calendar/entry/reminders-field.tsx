/** When a person is reminded. */
import { Group, Pill, Select } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { FieldsProps } from './fields-props.ts';
import { minutesWords } from './reminder-words.ts';

/** Minutes before the start that are offered. */
const OFFERED = [0, 5, 10, 15, 30, 60, 120, 1_440, 2_880, 10_080] as const;

export function RemindersField({ form, onChange }: FieldsProps) {
  const { t } = useTranslation('calendar');
  const { reminders } = form;
  const set = (next: readonly number[]) =>
    onChange({ ...form, reminders: [...new Set(next)].toSorted((one, other) => one - other) });
  return (
    <div>
      <Group gap={6} mb={reminders.length === 0 ? 0 : 'xs'}>
        {reminders.map((minutes) => {
          const when = minutesWords(minutes, t);
          return (
            <Pill
              key={minutes}
              withRemoveButton
              onRemove={() => set(reminders.filter((one) => one !== minutes))}
              removeButtonProps={{ 'aria-label': t('reminder.remove', { when }), tabIndex: 0 }}
            >
              {when}
            </Pill>
          );
        })}
      </Group>
      <Select
        label={t('reminder.name')}
        placeholder={t('reminder.add')}
        value={null}
        data={OFFERED.filter((minutes) => !reminders.includes(minutes)).map((minutes) => ({
          value: String(minutes),
          label: minutesWords(minutes, t),
        }))}
        onChange={(value) => value !== null && set([...reminders, Number(value)])}
      />
    </div>
  );
}
