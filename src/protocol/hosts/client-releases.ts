/** Releases of the clients: how a build says that there is a new one, and how an installed app asks for it. */
import { z } from 'zod';
import { route, type Route } from '../route.ts';

export const CLIENT_PLATFORMS = ['android', 'ios', 'linux', 'macos', 'web', 'windows'] as const;
export type ClientPlatform = (typeof CLIENT_PLATFORMS)[number];

/** The longest version and URL of a release. [field_invalid] */
const VERSION_LENGTH_MAX = 64;
const URL_LENGTH_MAX = 2_000;

const platform = z.enum(CLIENT_PLATFORMS).meta({ id: 'ClientPlatform' });
const fields = {
  platform,
  version: z
    .string()
    .max(VERSION_LENGTH_MAX)
    .regex(/^[0-9][0-9A-Za-z.+-]*$/),
  url: z
    .url({ protocol: /^https$/ })
    .max(URL_LENGTH_MAX)
    .meta({ description: 'Where it is to be had.' }),
};

export const announceRelease = z.strictObject(fields).meta({ id: 'AnnounceClientRelease' });
export const clientRelease = z
  .strictObject({ ...fields, announced_at: z.string().meta({ description: 'RFC 3339.' }) })
  .meta({ id: 'ClientRelease' });
export type AnnounceRelease = z.infer<typeof announceRelease>;
export type ClientRelease = z.infer<typeof clientRelease>;

export const CLIENT_RELEASE_ROUTES = {
  announceRelease: route.post(
    '/v1/clients/releases',
    'Announces a client release. The credential is the publish token of the console, as Bearer.',
    {
      auth: 'none',
      body: announceRelease,
      replies: { 201: clientRelease },
      errors: ['token_missing', 'token_invalid'],
    },
  ),
  readLatestRelease: route.get(
    '/v1/clients/latest',
    'The release that was announced last for a platform, for update notices; also for whoever is too old for anything else.',
    {
      auth: 'none',
      anyVersion: true,
      query: z.strictObject({ platform }),
      replies: { 200: clientRelease },
      errors: ['client_release_not_found'],
    },
  ),
} as const satisfies Record<string, Route>;
