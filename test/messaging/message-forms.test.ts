/** What each kind of message may carry: every field at its bound and one step beyond, unknown ones by name (MSG-01). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareServer } from '#test/support/shared-server.ts';
import { upload } from './attaching.ts';
import { assertRefused, post, start } from './conversing.ts';

const { server, alice } = await shareServer(['alice', 'bob'], { shards: 2 });
const { id } = await start(server, alice, 'room', ['bob']);
const attachment = await upload(server, alice, Buffer.from('abc'), 'a.png');

const BASE: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  media: { attachment, name: 'a.png', type: 'text/plain', size: 3 },
  location: { latitude: 59.9, longitude: 30.3 },
  contact: { name: 'Carol' },
  call: { outcome: { result: 'missed', duration: 0, flags: [] } },
};

const x = (length: number) => 'x'.repeat(length);

/** Kind, field, the values taken, the values refused. */
const FIELDS: readonly (readonly [string, string, readonly unknown[], readonly unknown[]])[] = [
  ['media', 'name', [x(255)], ['', x(256), 1]],
  ['media', 'type', ['image/svg+xml'], ['image', 'image/png; a=b', `a/${x(126)}`]],
  ['media', 'size', [0], [-1, 0.5, '3']],
  ['media', 'width', [1, 100_000], [0, 100_001, 1.5]],
  ['media', 'height', [1, 100_000], [0, 100_001, '1']],
  ['media', 'duration', [0, 0.5, 864_000], [-1, 864_001, '1']],
  ['media', 'caption', [x(16_000)], ['', x(16_001)]],
  ['media', 'alt', [x(1_000)], ['', x(1_001), 1]],
  ['location', 'latitude', [-90, 90], [-90.1, 90.1, '1', null]],
  ['location', 'longitude', [-180, 180], [-180.1, 180.1]],
  ['location', 'accuracy', [0, 10_000_000], [-1, 10_000_001]],
  ['location', 'name', [x(200)], ['', x(201)]],
  ['contact', 'name', [x(200)], ['', x(201), 7]],
  ['contact', 'username', ['carol'], ['Carol', '', x(65)]],
  ['contact', 'phones', [[], Array.from({ length: 8 }, () => x(32))], [Array.from({ length: 9 }, () => '1'), '1']],
  ['contact', 'emails', [['a@b'], [x(254)]], [Array.from({ length: 9 }, () => 'a@b'), {}]],
];

for (const [kind, field, taken, refused] of FIELDS) {
  test(`MSG-01 ${kind}: ${field} is taken within its bounds and refused by name beyond them`, async () => {
    for (const value of taken) {
      const reply = await post(server, alice, id, { kind, body: { ...BASE[kind], [field]: value } });
      assert.equal(reply.status, 201, reply.text);
    }
    for (const value of refused) {
      const reply = await post(server, alice, id, { kind, body: { ...BASE[kind], [field]: value } });
      assertRefused(reply, 400, 'field_invalid', `body.${field}`);
    }
  });
}

test('MSG-01 GOV-05 a field that a kind does not have is refused by name, at the top and inside the body', async () => {
  for (const [kind, body] of [['text', 'x'], ...Object.entries(BASE)] as const) {
    for (const field of ['sender', 'from', 'user', 'seq', 'root_seq', 'reply_count']) {
      assertRefused(await post(server, alice, id, { kind, body, [field]: 1 }), 400, 'field_unknown', field);
    }
    if (typeof body === 'string') continue;
    const reply = await post(server, alice, id, { kind, body: { ...body, sender: 'bob' } });
    assertRefused(reply, 400, 'field_unknown', 'body.sender');
  }
});

test('MSG-07 each part of an outcome at its bounds, and no identity anywhere in it', async () => {
  const outcome = (part: object) => ({
    kind: 'call',
    body: { outcome: { ...(BASE['call']?.['outcome'] as object), ...part } },
  });
  const taken = [{ duration: 864_000 }, { flags: Array.from({ length: 8 }, () => 'video') }, { result: 'busy' }];
  for (const part of taken) assert.equal((await post(server, alice, id, outcome(part))).status, 201);
  const refused: [object, string][] = [
    [{ duration: 864_001 }, 'duration'],
    [{ duration: -1 }, 'duration'],
    [{ flags: Array.from({ length: 9 }, () => 'video') }, 'flags'],
    [{ flags: ['Video'] }, 'flags.0'],
    [{ result: 'lost' }, 'result'],
  ];
  for (const [part, field] of refused) {
    assertRefused(await post(server, alice, id, outcome(part)), 400, 'field_invalid', `body.outcome.${field}`);
  }
  for (const field of ['user', 'sender', 'caller']) {
    assertRefused(
      await post(server, alice, id, outcome({ [field]: 'bob' })),
      400,
      'field_unknown',
      `body.outcome.${field}`,
    );
  }
});
