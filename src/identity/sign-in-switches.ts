/**
 * Where people sign in: with a password kept here, or at the identity provider. Vendor tokens and the break-glass
 * account are the coordinator's own and take no notice (VND-14, TFA-02).
 */

export const SIGN_IN_SOURCES = ['local', 'identity'] as const;
export type SignInSource = (typeof SIGN_IN_SOURCES)[number];

/** The two settings, read at every sign-in, so that a change counts at once. */
export interface SignInSettings {
  /** `sign_in_mode`: whose page people sign in on. */
  signInMode(): SignInSource;
  /** `platform_token`: whose tokens the platform takes. */
  platformToken(): SignInSource;
}

export class SignInSwitches {
  readonly #settings: SignInSettings;

  constructor(settings: SignInSettings) {
    this.#settings = settings;
  }

  /**
   * Whether a password opens nothing: with either switch at `identity`, what a password would open is a session of the
   * installation's own, beside the provider that was made to decide.
   */
  refusePasswords(): boolean {
    return this.#settings.signInMode() === 'identity' || this.#settings.platformToken() === 'identity';
  }
}
