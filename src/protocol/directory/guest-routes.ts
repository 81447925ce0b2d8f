/** The HTTP forms of guests whom people invite with their apps, on the coordinator. */
import { hostedGuestsReply, invitedGuest, inviteGuest } from './guests.ts';
import { route, type Route } from '../route.ts';

export const GUEST_ROUTES = {
  inviteGuest: route.post(
    '/v1/guests',
    'Invites a guest, for whom the installation lets: right `guest.invite`. The link is shown in this answer only.',
    {
      body: inviteGuest,
      replies: { 201: invitedGuest },
      errors: [
        'conversation_archived',
        'conversation_forbidden',
        'guests_full',
        'participants_fixed',
        'phone_taken',
        'right_missing',
      ],
    },
  ),
  listHostedGuests: route.get('/v1/guests', 'Guests whom the caller invited so, and invitations of theirs that wait.', {
    replies: { 200: hostedGuestsReply },
  }),
  withdrawGuest: route.delete('/v1/guests/invitations/:invited', 'Takes an invitation back that waits.', {
    replies: { 204: null },
    errors: ['invitation_not_found'],
  }),
  endHostedGuest: route.delete(
    '/v1/guests/:username',
    'Ends the term of a guest whom the caller invited: sessions end and sockets close.',
    { replies: { 204: null }, errors: ['guest_not_found'] },
  ),
} as const satisfies Record<string, Route>;
