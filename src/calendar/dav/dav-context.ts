/** What the DAV door needs of the rest of the server. */
import type { ObjectConditions } from '#storage/calendars/calendar-draft.ts';
import type { RegistrationPlace } from '#storage/calendars/calendar-registrations.ts';
import type { CalendarRecord } from '#storage/calendars/calendar-records.ts';
import type { WebPushTarget } from '#src/push/web-push.ts';
import type { QuotaLimits } from '#src/protocol/quotas.ts';
import type { AccessibleCalendar } from '#storage/calendars/calendar-reader.ts';
import type { BusyTimes } from '../objects/busy-times.ts';
import type { CalendarsAlone } from '../calendar-access.ts';
import type { CalendarRemoval } from '../objects/calendar-removal.ts';
import type { CalendarContents } from '../objects/calendar-contents.ts';
import type { WorkBudgets } from '../work-budget.ts';

/** A person, or a resource, as the asker may know them. */
export interface Principal {
  readonly user: string;
  readonly displayName: string;
  /** Calendar addresses, the preferred one first: `mailto:ann@example.org`. */
  readonly addresses: readonly string[];
  /** CALDAV:calendar-user-type (RFC 6638, 2.4.2). */
  readonly type: 'INDIVIDUAL' | 'ROOM' | 'RESOURCE';
}

/** The people of the installation, as far as the asker may see them. */
export interface Principals {
  /** Undefined for nobody and for somebody out of sight alike. */
  find(viewer: string, user: string): Principal | undefined;
  /** Those whose name or address holds the text; any of both where it is empty. At most `limit`. */
  search(viewer: string, text: string, limit: number): readonly Principal[];
}

export interface StoredObject {
  /** The etag without quotes; undefined where the server changed the bytes, so that the client reads them again. */
  readonly etag: string | undefined;
  readonly scheduleTag: string;
  readonly isNew: boolean;
}

/** Where an object lies. */
export interface ObjectPlace {
  /** Its id. */
  readonly calendar: string;
  readonly name: string;
}

/** The conditions are about what is copied or moved; `overwrite` is about what lies where it goes. */
export interface TransferOptions extends ObjectConditions {
  readonly overwrite: boolean;
}

/**
 * Writes objects as a person, by all rules of identity and of access.
 * Each of them throws Refusal, UidTaken or CalendarFault.
 */
export interface ObjectWriter {
  put(user: string, calendar: string, name: string, bytes: Buffer, conditions: ObjectConditions): Promise<StoredObject>;
  /** `isSilent`: an attendee's copy goes without an answer. */
  remove(
    user: string,
    calendar: string,
    name: string,
    conditions: ObjectConditions,
    options?: { readonly isSilent?: boolean },
  ): Promise<void>;
  copy(user: string, from: ObjectPlace, to: ObjectPlace, options: TransferOptions): Promise<StoredObject>;
  move(user: string, from: ObjectPlace, to: ObjectPlace, options: TransferOptions): Promise<StoredObject>;
}

/** A time that somebody is asked about, in milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** What a client says of a registration for pushes. */
export interface RegistrationForm {
  readonly target: WebPushTarget;
  /** Whether it is told of what is in the calendar, and of what is said of the calendar itself. */
  readonly isContent: boolean;
  readonly isProperty: boolean;
  /** Milliseconds since 1970; undefined for as long as may be. */
  readonly expiresAt: number | undefined;
}

/** Where programs are told that a calendar changed. */
export interface DavPush {
  /** What they make their subscriptions for (RFC 8292): an uncompressed point, base64url. */
  readonly publicKey: string;
  /**
   * Registers a push resource for a calendar, or changes what is registered of it; undefined where the person has as many as one
   * may have. @throws Refusal `field_invalid`, `target_private`.
   */
  register(
    place: { readonly user: string; readonly calendar: string },
    appPassword: string,
    form: RegistrationForm,
  ): Promise<{ readonly id: string; readonly expiresAt: number } | undefined>;
  /** Ends a registration; false where there is none. */
  unregister(place: RegistrationPlace): Promise<boolean>;
}

/** Who asks, and by which app password. */
export interface DavCaller {
  readonly user: string;
  readonly appPassword: string;
}

export interface DavContext {
  readonly calendars: CalendarsAlone;
  /** What is in a calendar, as the person who has it so may see it. */
  readonly contentsOf: (accessible: AccessibleCalendar) => CalendarContents;
  readonly writer: ObjectWriter;
  /**
   * Sends a proposal of another time, or the answer to one, in the viewer's name. @throws Refusal `invitation_not_found`,
   * `proposal_forbidden`, `proposal_outdated`; CalendarFault.
   */
  readonly propose: (viewer: string, message: Uint8Array) => Promise<void>;
  /** Removes a calendar of its owner's. */
  readonly removeCalendar: (removal: CalendarRemoval) => Promise<void>;
  readonly principals: Principals;
  /** When the owner of a calendar address is taken; undefined for nobody and for somebody out of sight alike. */
  readonly busyTimes: (viewer: string, address: string, span: Span) => Promise<BusyTimes | undefined>;
  /** When the viewer is taken themselves. */
  readonly ownBusyTimes: (viewer: string, span: Span) => Promise<BusyTimes>;
  /** When one calendar takes its owner's time. */
  readonly busyIn: (viewer: string, calendar: CalendarRecord, span: Span) => Promise<BusyTimes>;
  /** The time zone of somebody's profile; undefined where they have said none. */
  readonly zoneOf: (user: string) => string | undefined;
  /** How much people may store. */
  readonly quotas: { readonly limits: QuotaLimits };
  /** What people's questions may cost the others. */
  readonly budgets: WorkBudgets;
  /** The data folder's epoch: tokens from before a restored backup are none of ours. */
  readonly epoch: string;
  /** Where clients reach the door, where a proxy stands in front: `https://calendar.example.org`. */
  readonly publicUrl: string | undefined;
  readonly push: DavPush;
  /** Who sent these credentials. @throws Refusal `app_password_invalid`, `token_missing`, or one with `retryAfter`. */
  readonly authenticate: (authorization: string | undefined, address: string) => Promise<DavCaller>;
  /** Waits until it is the person's turn. @throws Refusal `rate_limited`. */
  readonly pace: (user: string, method: string) => Promise<void>;
  readonly log: {
    error(message: string, fields?: Readonly<Record<string, unknown>>): void;
  };
}
