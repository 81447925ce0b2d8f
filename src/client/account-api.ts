/** The person’s own account as the client asks the coordinator: each call typed by the protocol’s routes. */
import type { z } from 'zod';
import type { ACCOUNT_MAIL_ROUTES } from '#src/protocol/account/account-mail.ts';
import type { SECURITY_NOTICE_ROUTES } from '#src/protocol/account/security-notices.ts';
import type { ACCOUNT_ROUTES } from '#src/protocol/account/account-routes.ts';
import type { AvatarSize } from '#src/protocol/account/avatars.ts';
import type { GUEST_ROUTES } from '#src/protocol/directory/guest-routes.ts';
import type { OWN_FACTOR_ROUTES } from '#src/protocol/sessions/second-factor-routes.ts';
import type { APP_PASSWORD_ROUTES } from '#src/protocol/sessions/app-password-routes.ts';
import { fillPath, type Infer, type NamesIn } from './calls.ts';
import { REQUEST_MILLIS_MAX, type Http } from './connection/http.ts';
import type { Session } from './connection/session.ts';
import { clientError } from './parley-error.ts';

/** How long a picture may take: eight megabytes over a slow line. */
const PICTURE_MILLIS_MAX = 60_000;

type Routes = Omit<typeof ACCOUNT_ROUTES, 'usePasswordReset'> &
  Omit<typeof ACCOUNT_MAIL_ROUTES, 'requestPasswordReset'> &
  typeof SECURITY_NOTICE_ROUTES &
  typeof APP_PASSWORD_ROUTES &
  typeof GUEST_ROUTES &
  typeof OWN_FACTOR_ROUTES;
export type AccountRoute = keyof Routes;

/** Written out for the reason that `CALLS` is: the route table would bring the schema library along. */
const ACCOUNT_CALLS: { readonly [Name in AccountRoute]: readonly [Routes[Name]['method'], Routes[Name]['path']] } = {
  readOwnProfile: ['get', '/v1/me'],
  changeOwnProfile: ['patch', '/v1/me'],
  readNotifications: ['get', '/v1/me/notifications'],
  putNotifications: ['put', '/v1/me/notifications'],
  listOwnSessions: ['get', '/v1/me/sessions'],
  endOwnSession: ['delete', '/v1/me/sessions/:session'],
  endOtherSessions: ['delete', '/v1/me/sessions'],
  changePassword: ['post', '/v1/me/password'],
  listSecurityNotices: ['get', '/v1/me/security-notices'],
  seeSecurityNotices: ['put', '/v1/me/security-notices/seen'],
  sendEmailCode: ['post', '/v1/me/email/code'],
  confirmEmail: ['put', '/v1/me/email/confirmation'],
  createAppPassword: ['post', '/v1/app-passwords'],
  listAppPasswords: ['get', '/v1/app-passwords'],
  revokeAppPassword: ['delete', '/v1/app-passwords/:password'],
  inviteGuest: ['post', '/v1/guests'],
  listHostedGuests: ['get', '/v1/guests'],
  withdrawGuest: ['delete', '/v1/guests/invitations/:invited'],
  endHostedGuest: ['delete', '/v1/guests/:username'],
  listOwnFactors: ['get', '/v1/me/second-factors'],
  beginProof: ['post', '/v1/me/second-factors/proof/options'],
  proveOneself: ['post', '/v1/me/second-factors/proof'],
  setUpTotp: ['post', '/v1/me/second-factors/totp'],
  confirmTotp: ['post', '/v1/me/second-factors/totp/confirm'],
  beginPasskey: ['post', '/v1/me/second-factors/passkeys/options'],
  addPasskey: ['post', '/v1/me/second-factors/passkeys'],
  renameFactor: ['patch', '/v1/me/second-factors/:factor'],
  removeFactor: ['delete', '/v1/me/second-factors/:factor'],
  renewOwnRecoveryCodes: ['post', '/v1/me/second-factors/recovery-codes'],
};

/** What a call takes: every path parameter by name, and the body of its route. */
export interface AccountCallInput<Name extends AccountRoute> {
  readonly params?: { readonly [P in NamesIn<Routes[Name]['path']>]: string };
  readonly body?: Routes[Name] extends { body: infer Schema extends z.ZodType } ? z.input<Schema> : undefined;
}
/** What a call answers when it succeeds. */
export type AccountReplyOf<Name extends AccountRoute> = Infer<Routes[Name]['replies'][keyof Routes[Name]['replies']]>;

export class AccountApi {
  readonly #session: Session;
  readonly #http: Http;

  constructor(session: Session, http: Http) {
    this.#session = session;
    this.#http = http;
  }

  /** Any call of the route table, with the session's credential. @throws ParleyError */
  async call<Name extends AccountRoute>(name: Name, input: AccountCallInput<Name> = {}): Promise<AccountReplyOf<Name>> {
    const [method, path] = ACCOUNT_CALLS[name];
    const request = { method, path: fillPath(path, input.params ?? {}), body: input.body };
    return (await this.#session.request(this.#http, request)) as AccountReplyOf<Name>;
  }

  /**
   * Gives the person another picture; answers its number.
   * @throws ParleyError `avatar_invalid`, `body_too_large`, `field_managed`, `busy`.
   */
  async putAvatar(picture: Blob): Promise<number> {
    const request = { method: 'put', path: '/v1/me/avatar', bytes: picture, millisMax: PICTURE_MILLIS_MAX };
    const response = await this.#session.authorized((token) => this.#http.exchange({ ...request, token }));
    return ((await response.json()) as { avatar: number }).avatar;
  }

  /** Takes the person's picture away. @throws ParleyError `field_managed`. */
  async removeAvatar(): Promise<void> {
    await this.#session.request(this.#http, { method: 'delete', path: '/v1/me/avatar' });
  }

  /**
   * A picture of a person by the number that the directory says: under one number it never changes, who may see it does.
   * @throws ParleyError `avatar_not_found`.
   */
  async readAvatar(user: string, avatar: number, size: AvatarSize): Promise<Blob> {
    const path = fillPath('/v1/avatars/:username/:avatar', { username: user, avatar });
    const request = { method: 'get', path, query: { size }, millisMax: PICTURE_MILLIS_MAX };
    const response = await this.#session.authorized((token) => this.#http.exchange({ ...request, token }));
    return await response.blob();
  }

  /**
   * What the installation knows of the person, as lines of JSON (`application/x-ndjson`): to be piped into a file. It is whole
   * with its last line, `{"end":{…}}`; whoever reads too slowly, or signs out meanwhile, gets none.
   * @throws ParleyError `encryption_locked`, `rate_limited` while another one is under way, `busy`, `transfer_aborted`.
   */
  async exportOwnData({ signal }: { readonly signal?: AbortSignal } = {}): Promise<ReadableStream<Uint8Array>> {
    const request = { method: 'get', path: '/v1/me/export', millisMax: REQUEST_MILLIS_MAX, signal };
    const { body } = await this.#session.authorized((token) => this.#http.exchange({ ...request, token }));
    if (body === null) throw clientError('answer_unreadable');
    return body;
  }

  /**
   * Sets another password; answers how many other sessions ended, where they are to.
   * @throws ParleyError `password_wrong`, `rate_limited`, and with the field `new`: `password_too_short`,
   * `password_too_common`, `password_names_you`, `password_unchanged`.
   */
  async changePassword(current: string, next: string, endOthers: boolean): Promise<number> {
    const body = { current, new: next, end_others: endOthers };
    return (await this.call('changePassword', { body })).sessions_ended;
  }
}
