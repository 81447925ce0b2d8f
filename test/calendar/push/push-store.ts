/** Pushes of calendars over a real store and a push service on loopback, by a clock that a test sets. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setDefaultCACertificates } from 'node:tls';
import { CalendarPushes } from '#src/calendar/push/calendar-pushes.ts';
import { vapidKey } from '#src/push/vapid-key.ts';
import { putRegistration, registrationAt, type RegistrationPlace } from '#storage/calendars/calendar-registrations.ts';
import { Calendars } from '#storage/calendars/calendars.ts';
import { CERTIFICATE, LoopbackProvider, Subscription } from '#test/push/loopback-provider.ts';

setDefaultCACertificates([CERTIFICATE]);
/** 2026-11-21T08:00:00Z. */
export const NOON = Date.UTC(2026, 10, 21, 8);
export const HOUR = 3_600_000;
/** What is left of a time when a test has seen that it is kept: timers go by the machine's clock. */
export const SOON = 500;

/** A store with one calendar of ann's, and what tells of it. A test takes out the warnings that it expects: no other may come. */
export async function open(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'parley-test-'));
  const provider = await LoopbackProvider.open();
  const clock = { at: NOON, now: () => clock.at };
  let pushes: CalendarPushes | undefined;
  const calendars = Calendars.open(folder, { now: clock.now, onChange: (touch) => pushes?.changed(touch) });
  const form = { description: '', color: '', order: 0, zone: 'UTC', transparency: 'opaque' } as const;
  const { id } = await calendars.createCalendar({
    ...form,
    owner: 'ann',
    name: 'a',
    displayname: 'A',
    kinds: ['event'],
  });
  const warnings: unknown[] = [];
  /** Who may not sign in any more, and who was asked about: each attempt begins with asking. */
  const logins = { ended: new Set<string>(), asked: [] as string[] };
  const has = (user: string) => {
    logins.asked.push(user);
    return !logins.ended.has(user);
  };
  const make = (allowPrivateTargets = true) =>
    (pushes = new CalendarPushes({
      ...{ calendars, clock, epoch: 'ep_1', allowPrivateTargets },
      vapid: vapidKey(Buffer.alloc(32, 7), 'mailto:ops@example.org'),
      appPasswords: { has },
      log: { warn: (...said) => void warnings.push(said) },
    }));
  make();
  t.after(async () => {
    await pushes?.stop();
    await calendars.close();
    await provider.close();
    await rm(folder, { recursive: true, force: true });
    assert.deepEqual(warnings, []);
  });
  let names = 0;
  const register = async (
    expiresAt?: number,
    { user = 'ann', subscription = new Subscription(`${provider.url}/up/${(names += 1)}/`) } = {},
  ) => {
    const { endpoint, keys } = subscription.address;
    const registered = await pushes?.register({ user, calendar: id }, 'apw_1', {
      ...{ target: { endpoint, keys }, isContent: true, isProperty: true, expiresAt },
    });
    const place: RegistrationPlace = { calendar: id, user, id: registered?.id ?? '' };
    const asked = () => provider.asked.filter(({ path }) => path === new URL(endpoint).pathname);
    const count = () => asked().length;
    return {
      place,
      subscription,
      asked,
      count,
      at: () => registrationAt(calendars, place),
      expiresAt: registered?.expiresAt,
    };
  };
  const rename = async (name: string) =>
    await calendars.change((draft) => draft.changeCalendar(id, { displayname: name }));
  /** The pushes of a server that begins anew: it knows what is on disk. */
  const restart = async (allowPrivateTargets?: boolean) => {
    await pushes?.stop();
    make(allowPrivateTargets).wake();
  };
  const known = { calendars, clock, id, logins, provider, warnings };
  return { ...known, register, rename, restart, pushes: () => pushes as CalendarPushes };
}

/** Pushes that wait or are under way. */
export function waitingIn(pushes: CalendarPushes): number | undefined {
  return pushes.metrics.parley_calendar_pushes_waiting[0]?.value;
}

/** How many pushes came to a result so far; `retried` for attempts that failed. */
export function countOf(pushes: CalendarPushes, result: 'refused' | 'retried'): number | undefined {
  return pushes.metrics.parley_calendar_pushes_total.find(({ labels }) => labels[0] === result)?.value;
}

/** Writes registrations of so many people as the store would have them: nobody may have so many. */
export async function registerMany(
  { calendars, provider }: { readonly calendars: Calendars; readonly provider: LoopbackProvider },
  calendar: string,
  { count, toldAt }: { readonly count: number; readonly toldAt: number },
): Promise<void> {
  const { keys } = new Subscription(provider.url).address;
  for (let from = 0; from < count; from += 1_000) {
    await calendars.change((draft) => {
      for (let at = from; at < Math.min(count, from + 1_000); at += 1) {
        const place = { calendar, user: `a${at}`, id: 'x' };
        putRegistration(draft, place, {
          ...{ endpoint: `${provider.url}/up/${at}/`, ...keys, isContent: true, isProperty: true },
          ...{ appPassword: 'apw_1', expiresAt: NOON + HOUR, toldSeq: 0, toldAt },
        });
      }
    });
  }
}
