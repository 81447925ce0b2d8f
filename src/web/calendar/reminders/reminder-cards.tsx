/** Reminders over whatever is looked at. They take no focus: whoever is writing goes on. */
import './reminders.css';
import { Button, CloseButton, Group, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { Bell } from 'lucide-react';
import { useEffect, useId } from 'react';
import { useTranslation } from 'react-i18next';
import { useChat } from '../../chat/chat-context.ts';
import { harmlessName } from '../../kit/harmless-text.ts';
import { currentLocale } from '../../kit/language.ts';
import { useObserved } from '../../kit/observable.ts';
import { DesktopReminders } from './desktop-reminders.tsx';
import { addressOf, tellDesktop } from './desktop.ts';
import type { Reminder } from './reminders.ts';

export function ReminderCards() {
  const { t } = useTranslation('calendar');
  const { reminders } = useChat();
  const due = useObserved(reminders, () => reminders.due);
  if (due.length === 0) return null;
  return (
    <section className="parley-reminders" aria-label={t('reminder.due')}>
      <ul className="parley-plain-list">
        {due.map((reminder) => (
          <ReminderCard key={reminder.reminder_id} reminder={reminder} />
        ))}
      </ul>
      <DesktopReminders isQuiet />
    </section>
  );
}

function ReminderCard({ reminder }: { readonly reminder: Reminder }) {
  const { t } = useTranslation('calendar');
  const { reminders, spoken } = useChat();
  const id = useId();
  const title = harmlessName(reminder.title, t('untitled'));
  const when = whenOf(reminder);
  const place = harmlessName(reminder.location ?? '', '');
  const close = () => reminders.close(reminder.reminder_id);
  useEffect(() => {
    spoken.say([title, when].join(', '));
    if (reminders.isTelling) tellDesktop(reminder, title, [when, place].filter((part) => part !== '').join('\n'));
    // A reminder is told when it comes, and not again when its words change.
  }, [reminder, reminders, spoken]);
  return (
    <li className="parley-reminder" aria-labelledby={id}>
      <Group wrap="nowrap" gap="sm" align="flex-start">
        <Bell size={18} aria-hidden="true" className="parley-reminder-icon" />
        <div className="parley-fact">
          <Text fw={650} lineClamp={2} id={id} className="parley-wrapped">
            <bdi>{title}</bdi>
          </Text>
          <Text size="sm">{when}</Text>
          {place !== '' && (
            <Text size="sm" c="dimmed" lineClamp={2} className="parley-wrapped">
              <bdi>{place}</bdi>
            </Text>
          )}
          {reminder.late && (
            <Text size="sm" c="dimmed">
              {t('reminder.late')}
            </Text>
          )}
          <Button
            renderRoot={(props) => <Link {...props} {...addressOf(reminder)} />}
            onClick={close}
            size="compact-sm"
            variant="default"
            mt={6}
            aria-label={t('reminder.openOf', { title })}
          >
            {t('reminder.open')}
          </Button>
        </div>
        <CloseButton size="sm" aria-label={t('reminder.close', { title })} onClick={close} />
      </Group>
    </li>
  );
}

/** When it begins, or when somebody wanted to be told where that has an instant of its own. */
function whenOf({ remind_at: at, start_at: start = at }: Reminder): string {
  const parts = { weekday: 'long', day: 'numeric', month: 'long', hour: 'numeric', minute: '2-digit' } as const;
  return new Intl.DateTimeFormat(currentLocale(), parts).format(new Date(start));
}
