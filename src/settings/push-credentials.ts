/** What the messaging threads push with, gathered from settings, vault and configuration. */
import type { Config } from '#src/config.ts';
import type { PushCredentials } from '#src/protocol/push/push.ts';
import { vapidKey } from '#src/push/vapid-key.ts';
import { unlessLocked } from './credential-watch.ts';
import type { Settings } from './settings.ts';

const APNS_GATEWAYS = {
  production: 'https://api.push.apple.com',
  sandbox: 'https://api.sandbox.push.apple.com',
} as const;
const FCM_GATEWAY = 'https://fcm.googleapis.com';
const GOOGLE_TOKENS = 'https://oauth2.googleapis.com/token';
/** Whom a push service may write to where the operator names nobody: it must be there, and needs not answer. */
const NOBODY = 'mailto:postmaster@localhost';

export interface PushCredentialsOptions {
  /** What the VAPID key follows from. */
  readonly pushKey: Uint8Array;
  readonly config: Pick<Config, 'apnsUrl' | 'coordinatorUrl' | 'fcmUrl' | 'pushContact'>;
  readonly settings: Pick<Settings, 'read'>;
}

export interface VapidOptions extends Pick<PushCredentialsOptions, 'pushKey'> {
  readonly config: Pick<Config, 'coordinatorUrl' | 'pushContact'>;
}

/** The key that Web Push is signed with, and whom push services may write to. */
export function readVapid({ config, pushKey }: VapidOptions): PushCredentials['vapid'] {
  const own = config.coordinatorUrl?.startsWith('https:') === true ? config.coordinatorUrl : NOBODY;
  return vapidKey(pushKey, config.pushContact ?? own);
}

/** The credentials as they stand; those of a screen that is incomplete, or whose secret is locked, are left out. */
export function readPushCredentials({ config, settings, pushKey }: PushCredentialsOptions): PushCredentials {
  const vapid = readVapid({ config, pushKey });
  const apns = unlessLocked(() => settings.read('apns'));
  const fcm = unlessLocked(() => settings.read('fcm'));
  return {
    vapid,
    apns: apns && {
      teamId: apns.team_id,
      keyId: apns.key_id,
      topic: apns.topic,
      privateKey: apns.private_key,
      gateway: config.apnsUrl ?? APNS_GATEWAYS[apns.environment ?? 'production'],
    },
    fcm: fcm && {
      projectId: fcm.project_id,
      gateway: config.fcmUrl ?? FCM_GATEWAY,
      ...readAccount(fcm.service_account),
    },
  };
}

/** The parts of a service account's file; the settings' form has checked it. */
function readAccount(text: string) {
  const account = JSON.parse(text) as { client_email: string; private_key: string; token_uri?: unknown };
  const { client_email: clientEmail, private_key: privateKey, token_uri: named } = account;
  const tokenUrl = typeof named === 'string' && named.startsWith('https:') ? named : GOOGLE_TOKENS;
  return { clientEmail, privateKey, tokenUrl };
}
