/** Sign-in at the identity provider (TFA-02, VND-14). */
import { z } from 'zod';
import type { SingleSignOn } from '#src/identity/single-sign-on/single-sign-on.ts';
import { page, type ConsolePage, type ConsoleRoute } from '../../route.ts';
import { consoleSession, sessionBody } from './signed-in.ts';

/** The longest code, state or ticket: a ticket has some 400 characters, codes of the large providers some 1,000. */
const PARAMETER_LENGTH_MAX = 4_096;

const parameter = z.string().min(1).max(PARAMETER_LENGTH_MAX);

export const ssoStart = z
  .strictObject({ redirect_url: z.string(), ticket: z.string(), expires_at: z.string() })
  .meta({ id: 'SsoStart' });

/** What the provider sent back, with the ticket of the start. */
const returned = { code: parameter, state: parameter, ticket: parameter, iss: parameter.optional() };
export const ssoReturn = z.strictObject(returned).meta({ id: 'SsoReturn' });

/** The longest subject that a provider may give (OpenID Connect Core, section 2). */
const SUBJECT_LENGTH_MAX = 255;

/** What a provider calls an account: no control characters. */
export const subject = z
  .string()
  .min(1)
  .max(SUBJECT_LENGTH_MAX)
  .regex(/^\P{Cc}+$/u);

export const ssoRoutes = {
  startSso: {
    method: 'get',
    path: '/sso/start',
    summary: 'Where to send the browser, and the ticket that the callback wants back.',
    access: 'public',
    vendor: 'closed',
    audit: null,
    replies: { 200: ssoStart },
    errors: ['sso_not_set', 'sso_provider_unavailable', 'encryption_locked'],
  },
  finishSso: {
    method: 'get',
    path: '/sso/callback',
    summary: "Exchanges the provider's code for a full console session.",
    access: 'public',
    vendor: 'closed',
    audit: 'console.signed_in',
    query: z.strictObject(returned),
    replies: { 200: consoleSession },
    errors: [
      'sso_failed',
      'sso_not_bound',
      'right_missing',
      'sso_not_set',
      'sso_provider_unavailable',
      'encryption_locked',
      'busy',
    ],
  },
  startSsoBinding: {
    method: 'get',
    path: '/sso/binding',
    summary: 'Where to send the browser of somebody signed in by password, to bind their account of the provider.',
    access: 'signed_in',
    vendor: 'closed',
    audit: null,
    stepUp: true,
    replies: { 200: ssoStart },
    errors: ['sso_not_set', 'sso_provider_unavailable', 'encryption_locked'],
  },
  finishSsoBinding: {
    method: 'post',
    path: '/sso/binding',
    summary: 'Binds the account of the provider that came back to who is signed in.',
    access: 'signed_in',
    vendor: 'closed',
    audit: 'sso.identity_bound',
    body: ssoReturn,
    replies: { 204: null },
    errors: [
      'sso_failed',
      'sso_identity_taken',
      'sso_not_set',
      'sso_provider_unavailable',
      'encryption_locked',
      'busy',
    ],
  },
  bindSsoIdentity: {
    method: 'put',
    path: '/sso/identities/:user',
    summary: 'Binds an account of the provider to a person who is no owner. Their sessions of the provider end.',
    access: 'users:write',
    vendor: 'closed',
    audit: 'sso.identity_bound',
    stepUp: true,
    body: z.strictObject({ subject }).meta({ id: 'BindIdentity' }),
    replies: { 204: null },
    errors: ['owner_binds_own_account', 'person_not_found', 'person_left', 'sso_identity_taken', 'sso_not_set'],
  },
  forgetSsoIdentity: {
    method: 'delete',
    path: '/sso/identities/:user',
    summary: 'Takes away what binds a username to an account of the provider. Its sessions of the provider end.',
    access: 'access:write',
    vendor: 'closed',
    audit: 'sso.identity_forgotten',
    replies: { 204: null },
    errors: ['sso_identity_not_found', 'sso_in_use'],
  },
} as const satisfies Record<string, ConsoleRoute>;

export interface SsoPageOptions {
  readonly sso: SingleSignOn;
  readonly idleSeconds: number;
}

export function makeSsoPage({ sso, idleSeconds }: SsoPageOptions): ConsolePage {
  return page(ssoRoutes, {
    startSso: async () => ({ status: 200, body: await sso.start() }),
    finishSso: async ({ query, address }) => ({
      status: 200,
      body: sessionBody(await sso.callback(query, address), idleSeconds),
    }),
    startSsoBinding: async ({ principal }) => ({ status: 200, body: await sso.startBinding(principal) }),
    finishSsoBinding: async ({ principal, body, address }) => {
      await sso.finishBinding(principal, body, address);
      return { status: 204 };
    },
    bindSsoIdentity: async ({ principal, parameters, body, address }) => {
      await sso.assign(principal, parameters['user'] ?? '', body.subject, address);
      return { status: 204 };
    },
    forgetSsoIdentity: async ({ principal, parameters, address }) => {
      await sso.forget(principal, parameters['user'] ?? '', address);
      return { status: 204 };
    },
  });
}
