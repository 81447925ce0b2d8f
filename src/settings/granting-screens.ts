/** Screens that give people rights which nobody has without them, and set what bounds these. */
import { z } from 'zod';
import {
  GUEST_TERM_DAYS_DEFAULT,
  GUEST_TERM_DAYS_MAX,
  GUESTS_PER_PERSON_DEFAULT,
  GUESTS_PER_PERSON_MAX,
} from '#src/protocol/directory/guests.ts';

/** Groups by their ids, with commas between. */
export const groupIds = z
  .string()
  .max(1_000)
  .regex(/^grp_[0-9a-z]{22}(?: *, *grp_[0-9a-z]{22})*$/);

/** The table of all screens holds them to the form of a screen. */
export const GRANTING_SETTINGS = {
  'custom-emoji': {
    say: 'Who makes emoji of the installation’s own with their apps, and takes away those that they made. Administrators do it in the console anyway; guests never.',
    readBy: {
      say: '`PUT` and `DELETE /v1/emoji/{name}`, and `GET /v1/me/capabilities`.',
      modules: ['src/settings/granted-rights.ts'],
    },
    effect: 'At once; apps of whoever is signed in are told within a second.',
    isClosedToVendors: true,
    fields: {
      everybody: { schema: z.boolean(), say: 'Whether everybody of the organisation may; nobody without it.' },
      groups: { schema: groupIds, say: 'Groups, by their ids with commas between, whose members may.' },
    },
  },
  guests: {
    say: 'Who invites guests with their apps, for how long and how many. Administrators invite in the console anyway; guests never.',
    readBy: {
      say: '`POST /v1/guests`, and `GET /v1/me/capabilities`.',
      modules: ['src/settings/granted-rights.ts', 'src/settings/guest-settings.ts'],
    },
    effect: 'At once. Guests who were invited before stay until their terms end.',
    isClosedToVendors: true,
    fields: {
      everybody: { schema: z.boolean(), say: 'Whether everybody of the organisation may; nobody without it.' },
      groups: { schema: groupIds, say: 'Groups, by their ids with commas between, whose members may.' },
      term_days: {
        schema: z.int().min(1).max(GUEST_TERM_DAYS_MAX),
        say: `Days that the term of such a guest takes at most; ${GUEST_TERM_DAYS_DEFAULT} without it.`,
      },
      per_person: {
        schema: z.int().min(1).max(GUESTS_PER_PERSON_MAX),
        say: `Guests whom one person has at once, invitations that wait included; ${GUESTS_PER_PERSON_DEFAULT} without it.`,
      },
    },
  },
} as const;
