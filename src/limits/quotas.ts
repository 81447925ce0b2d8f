/** Holds what people use to the quotas of `src/protocol/quotas.ts`, and says when somebody is near one. */
import { Refusal } from '#src/protocol/errors.ts';
import {
  dayOf,
  EVERYBODY,
  QUOTA_WARNING_SHARE,
  type QuotaField,
  type QuotaLimits,
  type QuotaName,
  type RequireQuota,
} from '#src/protocol/quotas.ts';

/** Warnings remembered, so that each is given once a day; beyond it some may be given once more. */
const NOTED_MAX = 10_000;

/** A person who has used four fifths of a quota. */
export interface NearQuota {
  readonly user: string;
  readonly quota: QuotaName;
  readonly used: number;
  readonly limit: number;
}

export interface QuotaGateOptions {
  readonly limits: QuotaLimits;
  readonly now: () => number;
  /** Told once a day of each person and quota. */
  readonly near: (near: NearQuota) => void;
}

/** The quotas as one thread goes by them. */
export class QuotaGate {
  #limits: QuotaLimits;
  readonly #options: QuotaGateOptions;
  readonly #noted = new Set<string>();
  #notedOn = 0;

  constructor(options: QuotaGateOptions) {
    this.#limits = options.limits;
    this.#options = options;
  }

  get limits(): QuotaLimits {
    return this.#limits;
  }

  /** Goes by other limits from now on. */
  use(limits: QuotaLimits): void {
    this.#limits = limits;
  }

  /** See RequireQuota. */
  readonly require: RequireQuota = (name, who, used, adds) => {
    const field = (who === EVERYBODY ? `installation_${name}` : name) as QuotaField;
    const limit = this.#limits[field];
    if (limit === undefined) return;
    if (used + adds > limit) throw new Refusal('quota_exceeded', { field, limit });
    if (who !== EVERYBODY && used + adds >= limit * QUOTA_WARNING_SHARE) {
      this.#note({ user: who, quota: name, used: used + adds, limit });
    }
  };

  #note(near: NearQuota): void {
    const today = dayOf(this.#options.now());
    if (today !== this.#notedOn || this.#noted.size >= NOTED_MAX) this.#noted.clear();
    this.#notedOn = today;
    const name = `${near.quota} ${near.user}`;
    if (this.#noted.has(name)) return;
    this.#noted.add(name);
    this.#options.near(near);
  }
}
