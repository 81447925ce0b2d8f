/** The way to people outside where nobody has switched it on. */
import type { OutsideMail } from '#src/calendar/scheduling/outside-mail.ts';

export const NO_MAIL: OutsideMail = {
  isOn: () => false,
  language: () => 'en',
  takes: () => false,
  roomOf: () => 0,
  send: () => undefined,
  remind: () => undefined,
  wake: () => undefined,
  metrics: { parley_calendar_outgoing_mails_total: [], parley_calendar_outgoing_mails_waiting: [] },
  close: async () => {},
};
