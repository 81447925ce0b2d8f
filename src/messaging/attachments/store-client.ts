/** The object store as one thread has it: the one of the settings, changed while the server runs. */
import { S3Store } from '#src/outgoing/object-store.ts';
import type { PrivateTargets } from '#src/outgoing/targets.ts';
import type { ObjectStoreSettings } from '#src/protocol/attachments/attachments.ts';
import { Refusal } from '#src/protocol/errors.ts';
import type { ObjectStore, StoredObject } from '#storage/attachments/object-store.ts';

/** How long a client waits before it asks for a file again whose store is not set, in seconds: an owner has to come first. */
const UNSET_RETRY_SECONDS = 60;

export class StoreClient {
  readonly #options: { readonly allowPrivateTargets: PrivateTargets; readonly now: () => number };
  #settings: ObjectStoreSettings | null = null;
  #store: S3Store | undefined;

  constructor(
    settings: ObjectStoreSettings | null,
    options: { readonly allowPrivateTargets: PrivateTargets; readonly now: () => number },
  ) {
    this.#options = options;
    this.use(settings);
  }

  /** Goes by these settings from now on; what is under way by the ones before ends. */
  use(settings: ObjectStoreSettings | null): void {
    const isSame = settings !== null && this.#settings !== null && placeOf(settings) === placeOf(this.#settings);
    this.#settings = settings;
    if (isSame) return;
    this.#store?.close();
    this.#store = settings === null ? undefined : new S3Store(settings, this.#options);
  }

  get isSet(): boolean {
    return this.#store !== undefined;
  }

  /** Whether contents are kept there. */
  get keepsContents(): boolean {
    return this.#settings?.keepsContents === true;
  }

  /** @throws Refusal `object_store_unavailable` while none is set. */
  get store(): ObjectStore {
    if (this.#store === undefined) throw new Refusal('object_store_unavailable', { retryAfter: UNSET_RETRY_SECONDS });
    return this.#store;
  }

  /** An object in it; undefined for none. @throws as `store`. */
  at(object: string | undefined): StoredObject | undefined {
    return object === undefined ? undefined : { store: this.store, object };
  }

  close(): void {
    this.use(null);
  }
}

/** What the connections of a store are made with. */
function placeOf({ accessKeyId, bucket, endpoint, region, secretAccessKey }: ObjectStoreSettings): string {
  return JSON.stringify([endpoint, region, bucket, accessKeyId, secretAccessKey]);
}
