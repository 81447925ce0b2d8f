/** Trying what a settings screen says, where that can be done from here: a directory server, an object store, TLS, a mail server. */
import type { Clock } from '#src/base/clock.ts';
import { Refusal } from '#src/protocol/errors.ts';
import { tryLdap } from '#src/identity/ldap/ldap-directory.ts';
import { ldapWordOf } from '#src/outgoing/ldap.ts';
import { objectStoreWordOf, S3Store } from '#src/outgoing/object-store.ts';
import { reasonOf } from '#src/outgoing/request.ts';
import { smtpWordOf, trySmtp } from '#src/outgoing/smtp.ts';
import type { PrivateTargets } from '#src/outgoing/targets.ts';
import { readLdapSettings } from './ldap-settings.ts';
import { smtpServerOf } from './mail-settings.ts';
import { readObjectStore } from './object-store-settings.ts';
import {
  SETTING_SCREENS,
  SETTING_SCREEN_NAMES,
  type SettingScreen,
  type SettingScreenName,
} from './setting-screens.ts';
import { endOf, isPair, type Settings } from './settings.ts';

/** How long a target may take. Somebody waits in front of the button, below the deadline of their own request. */
export const SETTING_TEST_MILLIS = 5_000;

export interface SettingTest {
  readonly ok: boolean;
  /** What was seen, in a few words without a secret. */
  readonly detail: string;
  /** RFC 3339: the end of the certificate, where one was looked at. */
  readonly expires_at: string | null;
}

export interface SettingTestOptions {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly allowPrivateTargets: PrivateTargets;
  /** How long a target may take. */
  readonly millis?: number;
}

type Tester = (options: Required<SettingTestOptions>) => Promise<SettingTest>;

/** Screens that can be tried. */
export type TestableScreen = 'ldap' | 'external-stores' | 'tls' | 'mail';
export const TESTABLE_SCREENS = SETTING_SCREEN_NAMES.filter((name): name is TestableScreen => {
  const screen: SettingScreen = SETTING_SCREENS[name];
  return screen.isTestable === true;
});

const TESTERS: Readonly<Record<TestableScreen, Tester>> = {
  ldap: async ({ settings, allowPrivateTargets, millis }) => {
    const server = complete(readLdapSettings(settings));
    try {
      await tryLdap(server, { allowPrivateTargets, millis });
      return { ok: true, detail: 'bound, and the base is there', expires_at: null };
    } catch (error) {
      if (error instanceof Refusal) throw error;
      return { ok: false, detail: ldapWordOf(error), expires_at: null };
    }
  },
  'external-stores': async ({ settings, clock, allowPrivateTargets, millis }) => {
    const now = () => clock.now();
    const store = new S3Store(complete(readObjectStore(settings)), { allowPrivateTargets, millis, now });
    try {
      await store.probe();
      return { ok: true, detail: 'wrote, read a range and removed', expires_at: null };
    } catch (error) {
      if (error instanceof Refusal) throw error;
      return { ok: false, detail: objectStoreWordOf(error), expires_at: null };
    } finally {
      store.close();
    }
  },
  tls: async ({ settings, clock }) => {
    const { certificate, private_key: key } = complete(settings.read('tls'));
    const end = endOf(certificate);
    if (!isPair(certificate, key)) return { ok: false, detail: 'key of another certificate', expires_at: end };
    const isOver = Date.parse(end) <= clock.now();
    return { ok: !isOver, detail: isOver ? 'certificate has ended' : 'certificate and key match', expires_at: end };
  },
  mail: async ({ settings, allowPrivateTargets, millis }) => {
    const server = complete(smtpServerOf(complete(settings.read('mail'))));
    try {
      await trySmtp(server, { allowPrivateTargets, millis });
      return { ok: true, detail: server.username === undefined ? 'connected' : 'signed in', expires_at: null };
    } catch (error) {
      if (error instanceof Refusal) throw error;
      return { ok: false, detail: smtpWordOf(error), expires_at: null };
    }
  },
};

/**
 * Tries a screen as it is set. What fails at the target is an answer, not an error.
 * @throws Refusal `setting_incomplete`, `encryption_locked`, `target_private`.
 */
export async function testSettings(name: TestableScreen, options: SettingTestOptions): Promise<SettingTest> {
  try {
    return await TESTERS[name]({ millis: SETTING_TEST_MILLIS, ...options });
  } catch (error) {
    if (error instanceof Refusal) throw error;
    return { ok: false, detail: reasonOf(error), expires_at: null };
  }
}

/** Whether a screen can be tried. */
export function isTestable(name: SettingScreenName): name is TestableScreen {
  return (TESTABLE_SCREENS as readonly string[]).includes(name);
}

function complete<T>(values: T | undefined): T {
  if (values === undefined) throw new Refusal('setting_incomplete');
  return values;
}
