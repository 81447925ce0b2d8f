/**
 * A person's own data as lines of JSON, part by part: a line `part` says which begins. What was begun is in the audit trail
 * before the first line; everything is read as fast as the reader takes it.
 *
 *     {"export":{…}}
 *     {"part":"account"}       {"profile":{…}} {"session":{…}} … {"notifications":{…}} {"group":{…}} … {"app_password":{…}} …
 *                              {"security_notice":{…}} … {"provisioned":{…}} {"emoji":{…}} … {"guest":{…}} …
 *     {"part":"conversations"} {"conversation":{…}} {"message":{…}} {"attachment":{…}} … {"conversation":{…}} …
 *     {"part":"uploads"}       {"attachment":{…}} …
 *     {"part":"calendars"}     {"calendar":{…}} {"ics":"…"} … {"calendar":{…}} …
 *     {"end":{…}}
 *
 * No secret is in it, and of others no word. Without its last line an export is not whole: it ends early when the session
 * does that asked for it.
 */
import type { Clock } from '#src/base/clock.ts';
import { formatInstant } from '#src/base/time.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { SessionClaims } from '#src/protocol/sessions/sessions.ts';
import type { AppPasswords } from '#src/identity/app-passwords.ts';
import { notificationsOf } from '#src/identity/notifications.ts';
import { OwnSessions } from '#src/identity/own-sessions.ts';
import { noticesOf } from '#src/identity/security-notices.ts';
import type { Groups } from '#src/directory/groups/groups.ts';
import type { HostedGuests } from '#src/hosting/hosted-guests.ts';
import type { OwnProfiles } from '#src/directory/own-profiles.ts';
import { provisionedOf } from '#src/scim/scim-people.ts';
import type { Accounts } from '#storage/accounts/accounts.ts';
import { readAllEmoji } from '#storage/accounts/custom-emoji.ts';
import type { AttachmentReader, AttachmentRecord } from '#storage/attachments/attachment-records.ts';
import type { Lanes } from '#storage/engine/lanes.ts';
import type { Vault } from '#storage/vault/vault.ts';
import { readOwnWords } from './own-words.ts';

/** The form of the lines. A reader that knows another says so. */
const EXPORT_VERSION = 1;
/** Uploads looked at in one turn, of all people: nothing indexes whose they are, and what is not posted lives a day. */
const UPLOADS_AT_ONCE = 200;

/** One of a person's calendars: what it is called, and the pieces of its file. */
export interface ExportedCalendar {
  readonly calendar: { readonly id: string; readonly displayname: string };
  readonly pieces: AsyncIterable<Buffer>;
}

export interface OwnDataOptions {
  readonly accounts: Accounts;
  readonly appPasswords: Pick<AppPasswords, 'list'>;
  readonly attachments: Pick<AttachmentReader, 'find' | 'unpostedAfter'>;
  /** A person's own calendars. */
  readonly calendarsOf: (user: string) => Iterable<ExportedCalendar>;
  readonly clock: Clock;
  readonly groups: Pick<Groups, 'of'>;
  readonly hostedGuests: Pick<HostedGuests, 'list'>;
  readonly lanes: Pick<Lanes, 'environments' | 'requireWhole'>;
  readonly profiles: Pick<OwnProfiles, 'read'>;
  readonly vault: Pick<Vault, 'state'>;
}

interface Counts {
  conversations: number;
  messages: number;
  attachments: number;
  calendars: number;
}

export class OwnData {
  readonly #options: OwnDataOptions;

  constructor(options: OwnDataOptions) {
    this.#options = options;
  }

  /**
   * Begins an export; resolves when it is audited, with its lines.
   * @throws Refusal `encryption_locked` while names of contents are sealed, `storage_damaged` while not all of it can be read;
   * `busy`, `storage_full`.
   */
  async start(claims: SessionClaims, address: string): Promise<AsyncGenerator<string>> {
    const { accounts, clock, vault } = this.#options;
    if (vault.state === 'locked') throw new Refusal('encryption_locked');
    this.#options.lanes.requireWhole();
    const actor = `user:${claims.sub}`;
    const details = { session: claims.sid };
    const entry = { event: 'user.data_exported', actor, address, subject: actor, details };
    await accounts.change((draft) => draft.audit(clock.now(), entry));
    return this.#lines(claims);
  }

  async *#lines(claims: SessionClaims): AsyncGenerator<string> {
    const counts: Counts = { conversations: 0, messages: 0, attachments: 0, calendars: 0 };
    const started = formatInstant(this.#options.clock.now());
    yield line({ export: { version: EXPORT_VERSION, user: claims.sub, started_at: started } });
    const parts = [this.#account(claims), this.#conversations(claims, counts), this.#uploads(claims, counts)];
    for (const part of [...parts, this.#calendars(claims, counts)]) {
      for await (const lines of part) {
        yield lines;
        if (!this.#isOpen(claims)) return;
      }
    }
    yield line({ end: counts });
  }

  /** Who was blocked, left, was erased or signed out meanwhile reads no further. */
  #isOpen({ dev, sid, sub }: SessionClaims): boolean {
    return this.#options.accounts.liveSession(sub, dev, sid) !== undefined;
  }

  async *#account(claims: SessionClaims): AsyncGenerator<string> {
    const { accounts, appPasswords, groups, hostedGuests, profiles } = this.#options;
    const { sub: user } = claims;
    yield line({ part: 'account' });
    const { may_change: _, ...profile } = profiles.read(user);
    const sessions = new OwnSessions({ ...this.#options, announcer: { revoked: async () => undefined } }).list(claims);
    yield [
      line({ profile }),
      ...sessions.map((session) => line({ session })),
      line({ notifications: notificationsOf(accounts, user) }),
      ...groups.of(user).map(({ id, kind, name }) => line({ group: { id, name, kind } })),
      ...appPasswords.list(user).map((password) => line({ app_password: password })),
      ...noticesOf(accounts, user, claims.sid).map((notice) => line({ security_notice: notice })),
      ...provisionedOf(accounts, user).map((provisioned) => line({ provisioned })),
      ...readAllEmoji(accounts)
        .filter(({ document }) => document.madeBy === `user:${user}`)
        .map(({ document, id }) => line({ emoji: { name: id, created_at: document.createdAt } })),
      ...hostedGuests.list(user).map((guest) => line({ guest })),
    ].join('');
  }

  async *#conversations({ sub: user }: SessionClaims, counts: Counts): AsyncGenerator<string> {
    const { attachments, lanes } = this.#options;
    yield line({ part: 'conversations' });
    for await (const words of readOwnWords(lanes, user)) {
      if ('conversation' in words) {
        counts.conversations += 1;
        yield line(words);
        continue;
      }
      let lines = '';
      for (const { attachment: id, message } of words.messages) {
        counts.messages += 1;
        lines += line({ message });
        const found = id === undefined ? undefined : attachments.find(id);
        if (found?.owner !== user) continue;
        counts.attachments += 1;
        lines += attachmentLine(found);
      }
      yield lines;
    }
  }

  async *#uploads({ sub: user }: SessionClaims, counts: Counts): AsyncGenerator<string> {
    yield line({ part: 'uploads' });
    for (let after: Buffer | undefined; ;) {
      const { items, next } = this.#options.attachments.unpostedAfter(after, UPLOADS_AT_ONCE);
      const own = items.filter(({ owner }) => owner === user);
      counts.attachments += own.length;
      if (own.length > 0) yield own.map(attachmentLine).join('');
      if (next === undefined) return;
      after = next;
      await new Promise(setImmediate);
    }
  }

  async *#calendars({ sub: user }: SessionClaims, counts: Counts): AsyncGenerator<string> {
    yield line({ part: 'calendars' });
    for (const { calendar, pieces } of this.#options.calendarsOf(user)) {
      counts.calendars += 1;
      yield line({ calendar });
      for await (const piece of pieces) yield line({ ics: piece.toString() });
    }
  }
}

function attachmentLine({ bytes, createdAt, id, name, type }: AttachmentRecord): string {
  const attachment = { id, name, size: bytes, created_at: formatInstant(createdAt) };
  return line({ attachment: type === undefined ? attachment : { ...attachment, type } });
}

function line(value: object): string {
  return `${JSON.stringify(value)}\n`;
}
