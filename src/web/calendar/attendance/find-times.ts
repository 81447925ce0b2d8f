/** Times that suit all, those first that people work at: nobody who plans a meeting means the middle of the night. */
import type { CalendarApi, CalendarReplyOf } from '#src/client/calendar-api.ts';
import { addDays, instantOf, weekdayOf } from '../time.ts';

export type Slot = CalendarReplyOf<'findTime'>['items'][number];

/** How far ahead a time is looked for. */
const FIND_DAYS = 14;
/** Times that are offered at once. */
const SLOTS_SHOWN = 6;
/** The hours that are looked through first. Who set hours of their own is told apart by the server, within these too. */
const WORK_BEGINS = '09:00';
const WORK_ENDS = '18:00';
const FRIDAY = 5;

export interface TimeQuestion {
  readonly people: readonly string[];
  readonly rooms: readonly string[];
  readonly minutes: number;
  /** The day that somebody has in mind, `YYYY-MM-DD`, and the zone whose hours are meant. */
  readonly day: string;
  readonly zone: string;
}

/**
 * Looks day by day through the hours of work, from the day that is meant on, weekends left out but for that day; where two weeks
 * have nothing there, through all hours. @throws ParleyError
 */
export async function findTimes(api: CalendarApi, question: TimeQuestion): Promise<readonly Slot[]> {
  const { day, people, rooms, minutes, zone } = question;
  const ask = async (from: string, to: string): Promise<readonly Slot[]> => {
    const span = { from: instantOf(from, zone), to: instantOf(to, zone) };
    const body = { ...span, people: [...people], rooms: [...rooms], duration_minutes: minutes, limit: SLOTS_SHOWN };
    return (await api.call('findTime', { params: {}, body })).items;
  };
  const days = Array.from({ length: FIND_DAYS }, (_, ahead) => addDays(day, ahead));
  const found: Slot[] = [];
  for (const one of days.filter((date) => date === day || weekdayOf(date) <= FRIDAY)) {
    found.push(...(await ask(`${one}T${WORK_BEGINS}`, `${one}T${WORK_ENDS}`)));
    if (found.filter(isWithoutDoubt).length >= SLOTS_SHOWN) break;
  }
  if (found.length === 0) return await ask(`${day}T00:00`, `${addDays(day, FIND_DAYS)}T00:00`);
  return [...found.filter(isWithoutDoubt), ...found.filter((slot) => !isWithoutDoubt(slot))].slice(0, SLOTS_SHOWN);
}

function isWithoutDoubt({ doubtful }: Slot): boolean {
  return doubtful.length === 0;
}
