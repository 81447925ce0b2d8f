/** Working hours of people, and times that suit several of them, as the JSON door shows and takes both. */
import { z } from 'zod';
import { timeZone } from '../directory/directory.ts';
import { username } from '../names.ts';
import { FREE_BUSY_PEOPLE_MAX, WEEKDAYS } from './calendars.ts';

/** Spans of working hours in one week: four a day. [field_invalid] */
export const WORKING_HOURS_MAX = 28;
/** Rooms of which one is wanted. [field_invalid] */
export const FIND_TIME_ROOMS_MAX = 20;
/** Minutes of one meeting whose time is looked for: a day. [field_invalid] */
export const FIND_TIME_MINUTES_MAX = 1_440;
/** Times that are answered at most. [field_invalid] */
export const FIND_TIME_SLOTS_MAX = 50;
/** Meetings begin on these minutes. */
export const FIND_TIME_STEP_MINUTES = 15;

const clock = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/);

/** `from` is before `to`, which may be `24:00`. */
const hours = z
  .strictObject({ day: z.enum(WEEKDAYS), from: clock, to: z.union([clock, z.literal('24:00')]) })
  .refine(({ from, to }) => from < to, { path: ['to'] });

export const putWorkingHours = z
  .strictObject({ tz: timeZone, hours: z.array(hours).min(1).max(WORKING_HOURS_MAX) })
  .meta({ id: 'PutWorkingHours' });

/** `other` is an availability that a calendar program wrote and that is more than hours of a week; it counts all the same. */
export const workingHours = z
  .strictObject({
    state: z.enum(['none', 'hours', 'other']),
    tz: z.string().optional(),
    hours: z.array(z.strictObject({ day: z.enum(WEEKDAYS), from: z.string(), to: z.string() })).optional(),
  })
  .meta({ id: 'WorkingHours' });

const people = z.array(username).max(FREE_BUSY_PEOPLE_MAX);

/** POST /v1/find-time: up to two months. */
export const findTime = z
  .strictObject({
    /** Who has to be free. */
    people: people.min(1),
    /** Who had better be free. */
    optional: people.default([]),
    /** Rooms and resources of which one has to be free; without any, none is needed. */
    rooms: z.array(username).max(FIND_TIME_ROOMS_MAX).default([]),
    from: z.iso.datetime(),
    to: z.iso.datetime(),
    duration_minutes: z.int().min(5).max(FIND_TIME_MINUTES_MAX),
    limit: z.int().min(1).max(FIND_TIME_SLOTS_MAX).default(10),
  })
  .meta({ id: 'FindTime' });
export type FindTime = z.infer<typeof findTime>;

/** Times at which all `people` and a room are free of what takes them, those first that suit more people better, then the earliest. */
export const foundTimes = z
  .strictObject({
    items: z.array(
      z.strictObject({
        start_at: z.string(),
        end_at: z.string(),
        /** Of all people asked about: outside of their working hours, or perhaps taken. */
        doubtful: z.array(username),
        /** Of the optional ones: taken. */
        busy: z.array(username),
        /** Rooms that are free. */
        rooms: z.array(username),
      }),
    ),
    /** Who is not there, or whom the caller may not see: nothing is said of their time. */
    unknown: z.array(username),
    next: z.null(),
  })
  .meta({ id: 'FoundTimes' });
