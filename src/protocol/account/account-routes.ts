/** The HTTP forms of a person’s own account on the coordinator, as data: see `routes.ts`. */
import * as passwords from './passwords.ts';
import { notifications, notificationsReply } from './notifications.ts';
import { ownSessionsReply, sessionsEnded } from './own-sessions.ts';
import { changeOwnProfile, ownProfile } from './profile.ts';
import { route, type Route } from '../route.ts';
import { PASSWORD_POLICY_ERRORS } from '../sessions/sessions.ts';

export const ACCOUNT_ROUTES = {
  readOwnProfile: route.get('/v1/me', "The caller's own profile, and what of it they may change.", {
    replies: { 200: ownProfile },
  }),
  changeOwnProfile: route.patch('/v1/me', "Changes the caller's own profile; null takes a field away.", {
    body: changeOwnProfile,
    replies: { 200: ownProfile },
    errors: ['field_managed'],
  }),
  readNotifications: route.get('/v1/me/notifications', 'What the caller wants to be told of while no app is awake.', {
    replies: { 200: notificationsReply },
  }),
  putNotifications: route.put('/v1/me/notifications', 'Sets it anew, as a whole.', {
    body: notifications,
    replies: { 200: notificationsReply },
  }),
  listOwnSessions: route.get('/v1/me/sessions', "The caller's sessions and the devices they are on.", {
    replies: { 200: ownSessionsReply },
  }),
  endOwnSession: route.delete('/v1/me/sessions/:session', 'Ends one of them at once and closes its socket.', {
    replies: { 204: null },
    errors: ['user_session_not_found'],
  }),
  endOtherSessions: route.delete('/v1/me/sessions', 'Ends all of them but the one that asks.', {
    replies: { 200: sessionsEnded },
  }),
  changePassword: route.post('/v1/me/password', "Changes the caller's password; ends their other sessions if wished.", {
    body: passwords.changePassword,
    replies: { 200: passwords.passwordChanged },
    errors: [...PASSWORD_POLICY_ERRORS, 'password_at_provider', 'password_unchanged', 'password_wrong', 'rate_limited'],
  }),
  usePasswordReset: route.post(
    '/v1/password-reset/:reset',
    'Sets a password by a single-use link and ends every session of its person.',
    {
      auth: 'none',
      body: passwords.usePasswordReset,
      replies: { 200: passwords.passwordReset },
      errors: [...PASSWORD_POLICY_ERRORS, 'password_at_provider', 'reset_link_used'],
    },
  ),
} as const satisfies Record<string, Route>;
