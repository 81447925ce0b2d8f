/** What time and the state of others do to what settings let people do: bounds of all, terms, hosts who leave. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import sharp from 'sharp';
import { formatInstant } from '#src/base/time.ts';
import { countHosted, putHosted } from '#src/identity/guest-hosts.ts';
import { HostedGuests } from '#src/hosting/hosted-guests.ts';
import { guestLandings, guestRecords } from '#src/identity/guest-records.ts';
import { Refusal, type ErrorCode } from '#src/protocol/errors.ts';
import { EMOJI_MAX } from '#src/protocol/limits.ts';
import { addEmoji } from '#storage/accounts/custom-emoji.ts';
import { limiterBy } from '#test/support/limiter.ts';
import { PASSWORD, START, startCoordinator } from './coordinator-fixture.ts';

const BY = { actor: 'user:root', address: '127.0.0.1' };
const DAY_SECONDS = 86_400;
const at = (seconds: number) => formatInstant(START + seconds * 1000);

type Coordinator = Awaited<ReturnType<typeof startCoordinator>>;

/** A guest whom alice invited with her app, for a day. */
async function host({ access, accounts, people }: Coordinator): Promise<void> {
  for (const name of ['alice', 'visitor']) await people.add(name, PASSWORD);
  const endsAt = START / 1000 + DAY_SECONDS;
  const guest = { phone: '+79161234567', endsAt, invitedBy: 'alice', closed: false, isHosted: true } as const;
  await accounts.change((draft) => {
    draft.putDocument(guestRecords, 'visitor', guest);
    putHosted(draft, 'alice', { guest: 'visitor' });
  });
  await access.refresh();
}

test('GST-01 a term that is over frees the place that a host has for guests, and one that is prolonged takes it', async (context) => {
  const coordinator = await startCoordinator(context);
  const { access, accounts, clock, guests, hostedGuests } = coordinator;
  await host(coordinator);
  assert.deepEqual([access.hostOf('visitor'), access.hostOf('alice')], ['alice', undefined]);
  clock.advance(DAY_SECONDS - 1);
  await guests.sweep();
  assert.deepEqual([countHosted(accounts, 'alice'), hostedGuests.list('alice').length], [1, 1]);
  clock.advance(1);
  await guests.sweep();
  assert.deepEqual([countHosted(accounts, 'alice'), hostedGuests.list('alice').length], [0, 0]);
  // Beyond what people may give, as administrators may.
  await guests.changeTerm('visitor', at(100 * DAY_SECONDS), BY);
  assert.deepEqual([countHosted(accounts, 'alice'), hostedGuests.list('alice').length], [1, 1]);
});

test('GST-06 guests of somebody who left end with them, those of somebody who is blocked stay', async (context) => {
  const coordinator = await startCoordinator(context);
  const { access, accounts, guests, login, people } = coordinator;
  await host(coordinator);
  assert.ok((await login('visitor')).token);
  await people.block('alice');
  await guests.sweep();
  assert.equal(guests.read('visitor').is_over, false);
  await people.unblock('alice');
  await people.leave('alice');
  await guests.sweep();
  assert.equal(guests.read('visitor').is_over, true);
  assert.equal(access.isOver('visitor'), true);
  assert.equal((await coordinator.post('/v1/auth/login', { username: 'visitor', password: PASSWORD })).status, 401);
  assert.equal(countHosted(accounts, 'alice'), 0);
  const [entry] = accounts.auditEntries({ limit: 1 });
  assert.deepEqual([entry?.event, entry?.actor, entry?.subject], ['guest.ended', 'server', 'user:visitor']);
});

test('GST-06 a guest for whom the room had no answer comes into it later, once', async (context) => {
  const { access, accounts, clock, guests, people } = await startCoordinator(context);
  await people.add('alice', PASSWORD);
  await people.add('visitor', PASSWORD);
  const guest = {
    phone: '+79161234567',
    endsAt: START / 1000 + DAY_SECONDS,
    invitedBy: 'alice',
    closed: false,
  } as const;
  await accounts.change((draft) => {
    draft.putDocument(guestRecords, 'visitor', { ...guest, isHosted: true });
    draft.putDocument(guestLandings, 'visitor', { room: 'c_1' });
  });
  const asked: string[] = [];
  const answers: (ErrorCode | undefined)[] = ['unavailable', 'busy', undefined];
  const rooms = {
    requireMayAdd: () => undefined,
    add: async (...whom: string[]) => {
      asked.push(whom.join(' '));
      const code = answers.shift();
      if (code !== undefined) throw new Refusal(code);
    },
  };
  const hostedGuests = new HostedGuests({ access, accounts, clock, guests, limiter: limiterBy(clock), rooms });
  await hostedGuests.land('visitor');
  for (let turn = 0; turn < 3; turn += 1) await hostedGuests.landAll();
  assert.deepEqual(asked, Array(3).fill('c_1 alice visitor'));
  // What the room refuses is over, and so it is for a host who may not come.
  for (const code of ['conversation_forbidden', undefined] as const) {
    await accounts.change((draft) => draft.putDocument(guestLandings, 'visitor', { room: 'c_2' }));
    if (code === undefined) await people.block('alice');
    else answers.push(code);
    await hostedGuests.landAll();
    assert.equal(accounts.document(guestLandings, 'visitor'), undefined);
  }
  assert.equal(asked.length, 4);
});

test('QUO-01 an installation has as many emoji as it may have, and one more when one is gone', async (context) => {
  const { accounts, customEmojis, pictures } = await startCoordinator(context);
  context.after(() => pictures.close());
  const record = { picture: 'x', isMoving: false, bytes: 1, madeBy: 'server', createdAt: at(0) };
  await accounts.change((draft) => {
    for (let one = 1; one < EMOJI_MAX; one += 1) addEmoji(draft, `planted-${one}`, record, Buffer.of(one % 256));
  });
  const picture = await sharp({ create: { width: 4, height: 4, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  const make = async (name: string) => await customEmojis.make(name, picture, BY, () => undefined);
  assert.equal((await make('last')).name, 'last');
  await assert.rejects(make('more'), { code: 'emoji_full' });
  await customEmojis.remove('planted-1', BY, false);
  assert.equal((await make('more')).name, 'more');
  assert.equal(customEmojis.listMade().length, EMOJI_MAX);
});
