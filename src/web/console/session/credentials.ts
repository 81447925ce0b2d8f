/**
 * The credential of this tab: in memory, and in the tab's own storage so that a reload keeps it. It is in no address,
 * no cookie and nothing that outlives the tab.
 */

export interface Credential {
  readonly token: string;
  /** Unused for this long, the session is over; null for a vendor token, which is no session. */
  readonly idleSeconds: number | null;
  /** RFC 3339; null where its holder does not know. */
  readonly expiresAt: string | null;
}

type Kept = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

const KEPT_AS = 'parley.console.credential';

export class Credentials {
  readonly #kept: Kept;
  readonly #over: () => void;
  #credential: Credential | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `over` is called when the session's time has passed by this device's clock, unused or at its end. */
  constructor(kept: Kept, over: () => void) {
    this.#kept = kept;
    this.#over = over;
    this.#credential = read(kept);
    this.used();
  }

  get token(): string | undefined {
    return this.#credential?.token;
  }

  set(credential: Credential): void {
    this.#credential = credential;
    this.#kept.setItem(KEPT_AS, JSON.stringify(credential));
    this.used();
  }

  clear(): void {
    this.#credential = undefined;
    this.#kept.removeItem(KEPT_AS);
    clearTimeout(this.#timer);
  }

  /** The credential was just used: its idle time begins anew. */
  used(): void {
    clearTimeout(this.#timer);
    const { idleSeconds, expiresAt } = this.#credential ?? { idleSeconds: null, expiresAt: null };
    const left = [
      ...(idleSeconds === null ? [] : [idleSeconds * 1000]),
      ...(expiresAt === null ? [] : [Date.parse(expiresAt) - Date.now()]),
    ].filter((millis) => Number.isFinite(millis));
    if (left.length > 0) this.#timer = setTimeout(this.#over, Math.max(0, Math.min(...left)));
  }
}

function read(kept: Kept): Credential | undefined {
  try {
    const credential = JSON.parse(kept.getItem(KEPT_AS) ?? 'null') as Partial<Credential> | null;
    if (typeof credential?.token !== 'string') return undefined;
    const { token, idleSeconds = null, expiresAt = null } = credential;
    return { token, idleSeconds, expiresAt };
  } catch {
    // Somebody else's text under our name: as good as none.
    return undefined;
  }
}
