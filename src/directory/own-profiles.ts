/**
 * A person's own profile: read, changed as far as the settings let them, and a status that ends by itself, also where the
 * server was not there when it should have.
 */
import type { Clock } from '#src/base/clock.ts';
import { DueTimer } from '#src/base/due-timer.ts';
import { parseInstant } from '#src/base/time.ts';
import type { SessionAnnouncer } from '#src/identity/credentials/revocations.ts';
import { confirmedEmailOf } from '#src/identity/confirmed-emails.ts';
import { guestRecords } from '#src/identity/guest-records.ts';
import {
  OWN_FIELDS,
  OWN_SETTINGS,
  STATUS_DAYS_MAX,
  type ChangeOwnProfile,
  type OwnField,
  type OwnProfile,
} from '#src/protocol/account/profile.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Logger } from '#src/telemetry/logger.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import { entryOf, putPerson } from './directory.ts';
import { changeProfile } from './people.ts';
import { nextStatusEnds, personalFieldsOf, putPersonalFields } from '#src/identity/personal-fields.ts';

/** Statuses ended in one commit: many end on the hour. The rest follow at once. */
const ENDED_AT_ONCE = 500;

export interface OwnProfilesOptions {
  readonly accounts: Accounts;
  readonly announcer: Pick<SessionAnnouncer, 'directoryChanged'>;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
  /** Whether the settings, and the system that keeps a person, leave them a field; read at every use. */
  readonly mayChange: (username: string, field: OwnField) => boolean;
}

export class OwnProfiles {
  readonly #options: OwnProfilesOptions;
  readonly #timer: DueTimer;

  constructor(options: OwnProfilesOptions) {
    this.#options = options;
    this.#timer = new DueTimer({
      clock: options.clock,
      next: () => nextStatusEnds(options.accounts, 1)[0]?.at,
      work: async () => await this.sweep(),
      failed: (error) => options.log.warn('ending statuses failed', { error }),
    });
  }

  /** @throws Refusal `session_revoked` for somebody who is not there any more. */
  read(username: string): OwnProfile {
    const { accounts } = this.#options;
    const person = accounts.person(username);
    if (person === undefined) throw new Refusal('session_revoked');
    const { asked_first: wish, language } = personalFieldsOf(accounts, username);
    const entry = entryOf(accounts, person);
    const isConfirmed = confirmedEmailOf(accounts, username) !== undefined;
    return {
      ...entry,
      ...(entry.email === undefined ? {} : { email_confirmed: isConfirmed }),
      ...(language === null ? {} : { language }),
      ...(wish === null ? {} : { asked_first: wish }),
      created_at: person.createdAt,
      may_change: OWN_SETTINGS.filter((field) => this.#mayChange(username, field)),
    };
  }

  /**
   * Changes the fields that are named; whoever may see the person is told. What is as it was changes nothing.
   * @throws Refusal `field_managed` with the field that is not theirs to change; `field_invalid` for a status that is over
   * already or lasts longer than STATUS_DAYS_MAX; `session_revoked`, `busy`, `storage_full`.
   */
  async change(username: string, change: ChangeOwnProfile, address: string): Promise<OwnProfile> {
    const { accounts, announcer, clock } = this.#options;
    const now = clock.now();
    for (const field of OWN_FIELDS) if (change[field] !== undefined) this.assertMayChange(username, field);
    assertStatusEnd(change, now);
    const { display_name, phone, title } = change;
    const by = { actor: `user:${username}`, address };
    const rev = await accounts.change((draft) => {
      const person = draft.person(username);
      if (person?.state !== 'active') throw new Refusal('session_revoked');
      const isOther = changeProfile(draft, username, { display_name, phone, title }, by, now);
      return putPersonalFields(draft, username, change) || isOther ? putPerson(draft, person) : undefined;
    });
    if (rev !== undefined) {
      announcer.directoryChanged(username, rev);
      this.watch();
    }
    return this.read(username);
  }

  /** @throws Refusal `field_managed` for what is not theirs to change. */
  assertMayChange(username: string, field: OwnField): void {
    if (!this.#mayChange(username, field)) throw new Refusal('field_managed', { field });
  }

  /** Ends what is over, and goes on doing so. Resolves when nothing is left that ended while the server was away. */
  async start(): Promise<void> {
    await this.sweep();
    this.watch();
  }

  /** Takes away every status whose end has come, and tells the directory's readers. */
  async sweep(): Promise<void> {
    const { accounts, announcer, clock } = this.#options;
    for (;;) {
      const over = nextStatusEnds(accounts, ENDED_AT_ONCE).filter(({ at }) => at <= clock.now());
      if (over.length === 0) return;
      const told = await accounts.change((draft) =>
        over.flatMap(({ at, username }) => {
          const { status } = personalFieldsOf(draft, username);
          const person = draft.person(username);
          // Another one may have been set while this change waited for its turn.
          const isOver = status?.expires_at !== undefined && Date.parse(status.expires_at) === at;
          if (!isOver || person === undefined) return [];
          putPersonalFields(draft, username, { status: null });
          return [{ username, rev: putPerson(draft, person) }];
        }),
      );
      for (const { username, rev } of told) announcer.directoryChanged(username, rev);
    }
  }

  /** Looks when the next status ends, and sweeps then. */
  watch(): void {
    this.#timer.watch();
  }

  stop(): void {
    this.#timer.stop();
  }

  #mayChange(username: string, field: OwnField): boolean {
    // A guest recovers by the number they were invited with.
    if (field === 'phone' && this.#options.accounts.document(guestRecords, username) !== undefined) return false;
    return this.#options.mayChange(username, field);
  }
}

/** @throws Refusal `field_invalid`. Milliseconds. */
function assertStatusEnd({ status }: ChangeOwnProfile, now: number): void {
  if (status?.expires_at === undefined) return;
  const end = parseInstant(status.expires_at);
  if (end === undefined || end <= now || end > now + STATUS_DAYS_MAX * 86_400_000) {
    throw new Refusal('field_invalid', { field: 'status.expires_at' });
  }
}
