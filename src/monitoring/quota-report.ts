/** How much of each quota a person, or all people together, have used: from counters, never from a scan. */
import type { Clock } from '#src/base/clock.ts';
import type { QuotaGate } from '#src/limits/quotas.ts';
import {
  dayOf,
  EVERYBODY,
  QUOTA_NAMES,
  QUOTA_WARNING_SHARE,
  QUOTAS,
  type QuotaField,
  type QuotaName,
  type QuotaUse,
} from '#src/protocol/quotas.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import { readDailyUse } from '#storage/accounts/daily-use.ts';
import type { AttachmentReader } from '#storage/attachments/attachment-records.ts';
import { QUOTA_DAYS } from '#storage/attachments/upload-admission.ts';
import type { CalendarReader } from '#storage/calendars/calendar-reader.ts';
import { readPosted, readRooms } from '#storage/conversations/usage-records.ts';
import type { Lanes } from '#storage/engine/lanes.ts';
import type { Condition } from './alerts.ts';

export interface QuotaReportOptions {
  readonly accounts: Accounts;
  readonly attachments: Pick<AttachmentReader, 'uploadedSince'>;
  readonly clock: Clock;
  readonly lanes: Pick<Lanes, 'environments'>;
  readonly quotas: Pick<QuotaGate, 'limits'>;
}

export class QuotaReport {
  readonly #options: QuotaReportOptions;
  #calendars: CalendarReader | undefined;

  constructor(options: QuotaReportOptions) {
    this.#options = options;
  }

  /** Reads the calendars from now on, which are opened after the rest. */
  start(calendars: CalendarReader): void {
    this.#calendars = calendars;
  }

  /** Every quota as it stands for a person, or for EVERYBODY those that all people share. */
  of(who: string): QuotaUse[] {
    const used = this.#usedBy(who);
    const names = QUOTA_NAMES.filter((name) => who !== EVERYBODY || QUOTAS[name].ofAll);
    return names.map((name) => {
      const { unit, window } = QUOTAS[name];
      const quota = (who === EVERYBODY ? `installation_${name}` : name) as QuotaField;
      const limit = this.#options.quotas.limits[quota] ?? null;
      const near = limit !== null && used[name] >= limit * QUOTA_WARNING_SHARE;
      return { quota, unit, window, used: used[name], limit, near };
    });
  }

  /** Quotas of all people together of which four fifths are used, for the alerts. */
  conditions(): Condition[] {
    return this.of(EVERYBODY)
      .filter(({ near }) => near)
      .map(({ limit, quota, unit, used }): Condition => {
        return { kind: 'quota_near', subject: `quota:${quota}`, details: `${used} of ${limit} ${unit}` };
      });
  }

  #usedBy(who: string): Record<QuotaName, number> {
    const { accounts, attachments, clock, lanes } = this.#options;
    const now = clock.now();
    const posted = readPosted(lanes.environments, who, dayOf(now));
    this.#calendars?.refresh();
    const { entries, bytes } = this.#calendars?.calendarUse(who) ?? { entries: 0, bytes: 0 };
    return {
      messages: posted.messages,
      message_bytes: posted.bytes,
      attachment_bytes: attachments.uploadedSince(who, dayOf(now) - QUOTA_DAYS + 1),
      rooms: readRooms(lanes.environments, who),
      meetings: readDailyUse(accounts, 'meetings', who, now),
      calendars: this.#calendars?.calendarsOwned(who) ?? 0,
      calendar_entries: entries,
      calendar_bytes: bytes,
      sign_ins: readDailyUse(accounts, 'sign_ins', who, now),
      devices: who === EVERYBODY ? 0 : accounts.devices(who).length,
    };
  }
}
