/** Reminders outside of the page, by the browser's notifications, for who allowed them. */
import { Observable } from '../../kit/observable.ts';
import type { Reminder } from './reminders.ts';

class Desktop extends Observable {
  /** What the browser says of notifications; undefined where it has none, as on a page that is not secure. */
  get permission(): NotificationPermission | undefined {
    return 'Notification' in globalThis && globalThis.isSecureContext ? Notification.permission : undefined;
  }

  /** Has the browser ask the person. */
  async ask(): Promise<void> {
    await Notification.requestPermission();
    this.changed();
  }
}

export const desktop = new Desktop();

/** Where the entry of a reminder is looked at. */
export function addressOf({ calendar_id: calendar, entry_id: entry, recurrence_id: occurrence }: Reminder) {
  return { to: '/calendar', search: { calendar, entry, occurrence } } as const;
}

/** Shows it, where that is allowed. One that comes twice takes its own place. */
export function tellDesktop(reminder: Reminder, title: string, body: string): void {
  if (desktop.permission !== 'granted') return;
  try {
    const shown = new Notification(title, { body, tag: `parley.reminder ${reminder.reminder_id}` });
    shown.addEventListener('click', () => {
      globalThis.focus();
      shown.close();
    });
  } catch {
    // Browsers of phones have the name and refuse to make one (a TypeError); the card is there.
  }
}
