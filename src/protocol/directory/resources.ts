/**
 * Rooms and other things that are booked by inviting them: what administrators state of them, and what people read.
 * A resource has a name among usernames, so that it is invited and asked for its free time as a person is.
 */
import { z } from 'zod';
import { PAGE_LENGTH_MAX } from '../limits.ts';
import { count, username } from '../names.ts';
import { isBotUser } from '../bots/bots.ts';
import { readableText, timeZone } from './directory.ts';
import { groupId } from './policies.ts';

/** What the name of every resource begins with, and that of no person. */
export const RESOURCE_USER_PREFIX = 'resource.';

/** Resources of an installation: every list and every search walks them. [resources_full] */
export const RESOURCES_MAX = 1_000;

/** Groups that may book one resource: each is looked through for every booking. [field_invalid] */
export const BOOKING_GROUPS_MAX = 20;

/** The longest that `duration_minutes_max` allows: a month. [field_invalid] */
export const BOOKING_MINUTES_MAX = 31 * 24 * 60;

/** How far ahead `advance_days_max` allows: two years, all of which is looked at for a long series. [field_invalid] */
export const BOOKING_ADVANCE_DAYS_MAX = 731;

/** Resources looked at for one page of those that are free at a time. [query_invalid] */
export const FREE_RESOURCES_LOOKED_AT_MAX = 50;

/** CUTYPE of RFC 5545, 3.2.3, in the words of JSON. */
const RESOURCE_KINDS = ['room', 'resource'] as const;

/** Whether no person may take that username: bots and resources are called so. */
export function isReservedUsername(name: string): boolean {
  return isBotUser(name) || name.startsWith(RESOURCE_USER_PREFIX);
}

const fields = {
  kind: z.enum(RESOURCE_KINDS),
  name: readableText(100),
  /** People that there is room for. */
  capacity: z.int().min(1).max(100_000).nullable(),
  place: readableText(200).nullable(),
  /** An address of its own beside the `urn:uuid:`, for clients that invite by e-mail address alone. Nobody else has it. */
  email: z.email().max(254).nullable(),
  /** Of its days: when a booking of whole days begins. */
  time_zone: timeZone,
  /** Who sees it and may book it: the members of these groups, or with null everybody but guests. */
  booking_groups: z.array(groupId).max(BOOKING_GROUPS_MAX).nullable(),
  /** The longest that one booking may take; null for any. */
  duration_minutes_max: z.int().min(5).max(BOOKING_MINUTES_MAX).nullable(),
  /** How far ahead of today the last day of a booking may lie. */
  advance_days_max: z.int().min(1).max(BOOKING_ADVANCE_DAYS_MAX),
  /** Whether a series may be booked. */
  recurring: z.boolean(),
};

/** Console: a new room or resource. What is free is accepted, what is taken or against a rule is declined. */
export const createResource = z
  .strictObject({
    ...fields,
    capacity: fields.capacity.default(null),
    place: fields.place.default(null),
    email: fields.email.default(null),
    time_zone: fields.time_zone.default('UTC'),
    booking_groups: fields.booking_groups.default(null),
    duration_minutes_max: fields.duration_minutes_max.default(null),
    advance_days_max: fields.advance_days_max.default(365),
    recurring: fields.recurring.default(true),
  })
  .meta({ id: 'CreateResource' });
export type ResourceForm = z.infer<typeof createResource>;

/** Console: fields that are named change. What was booked before stays as it was answered. */
export const changeResource = z.strictObject(fields).omit({ kind: true }).partial().meta({ id: 'ChangeResource' });
export type ResourceChange = z.infer<typeof changeResource>;

/** A resource as the console shows it. `user` is its name among attendees. */
export const managedResource = z
  .strictObject({ user: username, ...fields, name: z.string(), place: z.string().nullable(), rev: count })
  .meta({ id: 'ManagedResource' });
export type ManagedResource = z.infer<typeof managedResource>;

export const managedResourcesReply = z
  .strictObject({ items: z.array(managedResource), next: z.null() })
  .meta({ id: 'ManagedResources' });

/** A resource as those read it who may book it. */
export const resource = z
  .strictObject({
    user: username,
    kind: fields.kind,
    name: z.string(),
    capacity: fields.capacity,
    place: z.string().nullable(),
    time_zone: z.string(),
    duration_minutes_max: fields.duration_minutes_max,
    advance_days_max: count,
    recurring: z.boolean(),
  })
  .meta({ id: 'Resource' });

const decimal = (least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number)
    .pipe(z.number().min(least).max(most));

/** GET /v1/resources: those that the caller may book, by name among usernames behind `after`. */
export const resourcesQuery = z
  .strictObject({
    kind: fields.kind.optional(),
    /** Those with room for so many people. */
    capacity: decimal(1, 100_000).optional(),
    /** In the name or the place, in any case of letters. */
    q: z.string().trim().min(1).max(100).optional(),
    /** With `to`: those that are free from then on; up to two months. */
    from: z.iso.datetime().optional(),
    to: z.iso.datetime().optional(),
    after: username.optional(),
    limit: decimal(1, PAGE_LENGTH_MAX).default(PAGE_LENGTH_MAX),
  })
  .refine(({ from, to }) => (from === undefined) === (to === undefined), { path: ['to'] });
export type ResourcesQuery = z.infer<typeof resourcesQuery>;

/** A page may be shorter than asked, or empty, and have a next one all the same. */
export const resourcesReply = z
  .strictObject({ items: z.array(resource), next: z.string().nullable() })
  .meta({ id: 'Resources' });
