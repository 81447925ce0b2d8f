/** The HTTP forms of app passwords on the coordinator, as data: see `routes.ts`. */
import * as passwords from './app-passwords.ts';
import type { Route } from '../route.ts';

export const APP_PASSWORD_ROUTES = {
  createAppPassword: {
    method: 'post',
    path: '/v1/app-passwords',
    summary: 'Makes a password for a calendar program. It is shown in this answer only.',
    auth: 'session',
    body: passwords.createAppPassword,
    replies: { 201: passwords.createdAppPassword },
    errors: ['app_passwords_full'],
  },
  listAppPasswords: {
    method: 'get',
    path: '/v1/app-passwords',
    summary: "The caller's app passwords, without the passwords.",
    auth: 'session',
    replies: { 200: passwords.appPasswordsReply },
    errors: [],
  },
  revokeAppPassword: {
    method: 'delete',
    path: '/v1/app-passwords/:password',
    summary: 'Revokes an app password at once.',
    auth: 'session',
    replies: { 204: null },
    errors: ['app_password_not_found'],
  },
} as const satisfies Record<string, Route>;
