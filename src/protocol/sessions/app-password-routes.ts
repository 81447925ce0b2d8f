/** The HTTP forms of app passwords on the coordinator, as data: see `routes.ts`. */
import * as passwords from './app-passwords.ts';
import { route, type Route } from '../route.ts';

export const APP_PASSWORD_ROUTES = {
  createAppPassword: route.post(
    '/v1/app-passwords',
    'Makes a password for a calendar program. It is shown in this answer only.',
    {
      body: passwords.createAppPassword,
      replies: { 201: passwords.createdAppPassword },
      errors: ['app_passwords_full'],
    },
  ),
  listAppPasswords: route.get('/v1/app-passwords', "The caller's app passwords, without the passwords.", {
    replies: { 200: passwords.appPasswordsReply },
  }),
  revokeAppPassword: route.delete('/v1/app-passwords/:password', 'Revokes an app password at once.', {
    replies: { 204: null },
    errors: ['app_password_not_found'],
  }),
} as const satisfies Record<string, Route>;
