/** The servers that media of calls go over: those of the settings, or of the configuration while the screen is empty. */
import type { Config } from '#src/config.ts';
import { TURN_CREDENTIAL_SECONDS, type MediaServers } from '#src/protocol/calls/calls.ts';
import { unlessLocked } from './credential-watch.ts';
import type { Settings } from './settings.ts';

export interface MediaServersOptions {
  readonly config: Pick<Config, 'turnSecret' | 'turnUris'>;
  readonly settings: Pick<Settings, 'read' | 'view'>;
}

/**
 * The servers as they stand. While the vault is locked those of the screen have no secret, and the configuration's does
 * not stand in for it: it may be another server's.
 */
export function readMediaServers({ config, settings }: MediaServersOptions): MediaServers {
  const { isComplete, values } = settings.view('turn');
  if (!isComplete) {
    return { uris: config.turnUris, secret: config.turnSecret ?? null, seconds: TURN_CREDENTIAL_SECONDS };
  }
  return {
    uris: values['uris'] as string,
    secret: unlessLocked(() => settings.read('turn')?.secret),
    seconds: (values['credential_seconds'] as number | null) ?? TURN_CREDENTIAL_SECONDS,
  };
}
