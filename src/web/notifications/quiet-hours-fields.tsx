/** Hours in which nothing is pushed, every day, on the clock of where the person is. */
import { Group, Switch, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { QuietHours } from '#src/protocol/account/notifications.ts';

const NIGHT = { from: '22:00', until: '07:00' };

export interface QuietHoursFieldsProps {
  readonly quiet: QuietHours | null;
  readonly onChange: (quiet: QuietHours | null) => void;
}

export function QuietHoursFields({ quiet, onChange }: QuietHoursFieldsProps) {
  const { t } = useTranslation();
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  return (
    <>
      <Switch
        label={t('push.quiet')}
        checked={quiet !== null}
        onChange={(event) => onChange(event.currentTarget.checked ? { ...NIGHT, time_zone: timeZone } : null)}
      />
      {quiet !== null && (
        <Group grow>
          <TimeField
            label={t('push.from')}
            time={quiet.from}
            isTaken={(from) => from !== quiet.until}
            onTime={(from) => onChange({ ...quiet, from })}
          />
          <TimeField
            label={t('push.until')}
            time={quiet.until}
            isTaken={(until) => until !== quiet.from}
            onTime={(until) => onChange({ ...quiet, until })}
          />
        </Group>
      )}
    </>
  );
}

interface TimeFieldProps {
  readonly label: string;
  readonly time: string;
  /** Whether hours with this time have a length. */
  readonly isTaken: (time: string) => boolean;
  readonly onTime: (time: string) => void;
}

/** Says the time when the field is left, as the time is whole then and not while it is typed. */
function TimeField({ isTaken, label, onTime, time }: TimeFieldProps) {
  const { t } = useTranslation();
  const [typed, setTyped] = useState(time);
  const isWhole = /^\d\d:\d\d$/.test(typed) && isTaken(typed);
  return (
    <TextInput
      type="time"
      label={label}
      value={typed}
      error={isWhole ? undefined : t('push.hours')}
      onChange={(event) => setTyped(event.currentTarget.value)}
      onBlur={() => {
        if (isWhole && typed !== time) onTime(typed);
      }}
    />
  );
}
