/** The object store as the settings have it, with what holds where they say nothing. */
import type { ObjectStoreSettings } from '#src/protocol/attachments/attachments.ts';
import type { Settings } from './settings.ts';

/** What stores that know no regions go by. */
const REGION = 'us-east-1';

/** Undefined while it is not filled in. @throws Refusal `encryption_locked`. */
export function readObjectStore(settings: Pick<Settings, 'read'>): ObjectStoreSettings | undefined {
  const set = settings.read('external-stores');
  if (set === undefined) return undefined;
  return {
    endpoint: set.endpoint,
    region: set.region ?? REGION,
    bucket: set.bucket,
    accessKeyId: set.access_key_id,
    secretAccessKey: set.secret_access_key,
    keepsContents: set.keeps_attachments ?? false,
  };
}
