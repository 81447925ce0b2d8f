/**
 * Tells people that what signs them in changed: reads on in the audit trail after every commit, keeps a notice for whom an entry is
 * about, has a mail go, and tells their devices. How far it read is stored with the notices, so that a kill loses none and repeats none.
 */
import type { Clock } from '#src/base/clock.ts';
import { noticeOf, putNotice } from '#src/identity/security-notices.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import type { AccountMail, AccountOutbox } from './account-outbox.ts';

/** Entries read in one go. */
const READ_AT_ONCE = 100;
/** Entries that a start looks back over at most: those of a crash between two commits are few. */
const LOOK_BACK_MAX = 2_000;
/** The one document: the number of the last entry that was read when notices were stored. */
const CURSOR = 'cursor';

const noticeCursor = defineCollection<number>('security_notice_cursor', { version: 1 });

export interface NoticeWatchOptions {
  readonly accounts: Accounts;
  readonly clock: Clock;
  /** Whether a mail server is named. */
  readonly isOn: () => boolean;
  readonly log: { warn(message: string, fields?: Readonly<Record<string, unknown>>): void };
  readonly outbox: Pick<AccountOutbox, 'noticeLeftOut' | 'put' | 'wake'>;
  /** Tells the devices of a person that something of theirs is another. */
  readonly tell: (user: string) => void;
}

export class NoticeWatch {
  readonly #options: NoticeWatchOptions;
  #read = 0;
  #isDue = false;
  #working: Promise<void> | undefined;

  constructor(options: NoticeWatchOptions) {
    this.#options = options;
  }

  /** Goes on where the notices end; an installation that had none begins with what happens from now on. */
  async start(): Promise<void> {
    const { accounts } = this.#options;
    const head = accounts.auditHead.number;
    const stored = accounts.document(noticeCursor, CURSOR);
    this.#read = Math.max(stored ?? head, head - LOOK_BACK_MAX);
    if (stored === undefined) await accounts.change((draft) => draft.putDocument(noticeCursor, CURSOR, head));
    accounts.follow(() => this.#look());
    this.#look();
  }

  /** Resolves when everything that was told is told. */
  async settle(): Promise<void> {
    await this.#working;
  }

  #look(): void {
    this.#isDue = true;
    this.#working ??= this.#readOn().finally(() => (this.#working = undefined));
  }

  async #readOn(): Promise<void> {
    while (this.#isDue) {
      this.#isDue = false;
      try {
        await this.#readAll();
      } catch (error) {
        // A disk that is full is told by others; the next change is another occasion.
        if (!(error instanceof Refusal)) this.#options.log.warn('telling people of their accounts failed', { error });
      }
    }
  }

  async #readAll(): Promise<void> {
    const { accounts, outbox, tell } = this.#options;
    for (;;) {
      const entries = accounts.auditEntriesAfter(this.#read, READ_AT_ONCE);
      const last = entries.at(-1)?.number;
      if (last === undefined) return;
      const told = entries.flatMap((entry) => noticeOf(entry) ?? []);
      if (told.length > 0) {
        await accounts.change((draft) => {
          for (const { notice, user } of told) this.#put(draft, user, notice);
          draft.putDocument(noticeCursor, CURSOR, last);
        });
        outbox.wake();
        for (const person of new Set(told.map(({ user }) => user))) tell(person);
      }
      this.#read = last;
    }
  }

  #put(draft: AccountsDraft, user: string, notice: Parameters<typeof putNotice>[2]): void {
    const { clock, isOn, outbox } = this.#options;
    // Erased or gone: nothing of theirs is stored any more.
    if (draft.person(user)?.state === 'left' || draft.person(user) === undefined) return;
    putNotice(draft, user, notice);
    const { at, by, kind } = notice;
    if (!isOn() || kind === 'email_confirmed') return;
    const mail: AccountMail = { kind: 'notice', user, at: clock.now(), notice: { at, by, kind } };
    try {
      outbox.put(draft, mail);
    } catch (error) {
      // As many mails wait as may: the devices are told all the same.
      if (!(error instanceof Refusal)) throw error;
      outbox.noticeLeftOut();
    }
  }
}
