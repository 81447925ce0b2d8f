/** What the address of the calendar may name: one entry, or one occurrence of a series. */
export interface CalendarAddress {
  readonly calendar?: string | undefined;
  readonly entry?: string | undefined;
  readonly occurrence?: string | undefined;
}

export function readCalendarAddress(words: Record<string, unknown>): CalendarAddress {
  const text = (name: string) => (typeof words[name] === 'string' ? { [name]: words[name] } : {});
  return { ...text('calendar'), ...text('entry'), ...text('occurrence') };
}
