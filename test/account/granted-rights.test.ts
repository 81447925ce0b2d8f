/** What settings let people do who do not run the installation: make its emoji, invite guests into their own rooms. */
import assert from 'node:assert/strict';
import { connect as connectTo } from 'node:net';
import { test } from 'node:test';
import sharp, { type Sharp } from 'sharp';
import { formatInstant } from '#src/base/time.ts';
import { ParleyClient } from '#src/client/parley-client.ts';
import type { CustomEmoji, MadeEmoji } from '#src/protocol/conversations/custom-emoji.ts';
import type { Message } from '#src/protocol/conversations/messages.ts';
import type { DirectoryEntry } from '#src/protocol/directory/directory.ts';
import type { HostedGuest } from '#src/protocol/directory/guests.ts';
import { EMOJI_BYTES_MAX, EMOJI_FRAMES_MAX } from '#src/protocol/limits.ts';
import { shareRestartedServer } from '#test/console/console-server.ts';
import { assertRefused, say, start } from '#test/messaging/conversing.ts';
import { request, type Person, type Reply } from '#test/support/server.ts';
import { connect } from '#test/support/socket.ts';
import { until } from '#test/support/waiting.ts';

const host = await shareRestartedServer({}, { shards: 2 });
const DAY_MILLIS = 86_400_000;
const inDays = (days: number) => formatInstant(Math.floor((Date.now() + days * DAY_MILLIS) / 1000) * 1000);

async function own<T = Record<string, unknown>>(
  who: Person,
  method: string,
  path: string,
  body?: unknown,
): Promise<Reply<T>> {
  return await request<T>(method, `${host.server.coordinator}${path}`, { token: who.session.token, body });
}

async function set(screen: string, values: object): Promise<void> {
  const { status, text } = await host.ask('administrator', 'PUT', `/settings/${screen}`, values);
  assert.equal(status, 200, text);
}

/** A group with these people in it. */
async function groupOf(name: string, ...members: string[]): Promise<string> {
  const { body, status, text } = await host.ask<{ id: string }>('administrator', 'POST', '/groups', { name, members });
  assert.equal(status, 201, text);
  return body.id;
}

async function rightsOf(who: Person): Promise<string[]> {
  return (await host.server.api<{ rights: string[] }>(who, 'GET', '/v1/me/capabilities')).body.rights;
}

/** The event by which somebody hears that they themselves may do something else now. */
async function toldOfOneself(who: Person, act: () => Promise<unknown>): Promise<void> {
  const socket = await connect(host.server, who);
  await act();
  await socket.event(({ type, data }) => type === 'directory.changed' && data['user'] === who.username);
  await socket.close();
}

const putEmoji = async (who: Person, name: string, bytes: Uint8Array) => {
  const headers = { authorization: `Bearer ${who.session.token}`, 'content-type': 'image/png' };
  const url = `${host.server.coordinator}/v1/emoji/${encodeURIComponent(name)}`;
  const answer = await fetch(url, { method: 'PUT', headers, body: Buffer.from(bytes) });
  return { status: answer.status, body: (await answer.json()) as CustomEmoji };
};
const square = async (background: string, side = 9) =>
  await sharp({ create: { width: side, height: side, channels: 3, background } })
    .png()
    .toBuffer();
/** Frames below each other, no two of which are alike. */
function noise(side: number, frames: number): Sharp {
  const length = side * side * 3 * frames;
  const bytes = Buffer.from(Array.from({ length }, (_, at) => ((at * 2_654_435_761) >>> 13) % 256));
  return sharp(bytes, { raw: { width: side, height: side * frames, channels: 3, pageHeight: side } });
}
async function film(frames: number): Promise<Buffer> {
  const bytes = await noise(8, frames).gif().toBuffer();
  assert.equal((await sharp(bytes).metadata()).pages, frames);
  return bytes;
}

async function react(who: Person, id: string, emoji: string, method = 'PUT'): Promise<Reply<Message>> {
  const path = `/v1/conversations/${id}/messages/1/reactions/${encodeURIComponent(emoji)}`;
  return await host.server.api<Message>(who, method, path);
}

test('CAP-03 an emoji is made by whom the setting names, who is told, and by nobody else', async () => {
  const { ann, bea } = await host.server.people('ann', 'bea');
  const picture = await square('red');
  assertRefused(await putEmoji(ann, 'logo', picture), 403, 'right_missing');
  assert.ok(!(await rightsOf(ann)).includes('emoji.create'));
  const group = await groupOf('Painters', 'ann');
  assertRefused(await host.ask('viewer', 'PUT', '/settings/custom-emoji', { everybody: true }), 403, 'right_missing');
  const unknown = { groups: `grp_${'0'.repeat(22)}` };
  const refused = await host.ask('administrator', 'PUT', '/settings/custom-emoji', unknown);
  assertRefused(refused, 400, 'field_invalid', 'groups');
  await toldOfOneself(ann, async () => await set('custom-emoji', { groups: group }));
  assert.ok((await rightsOf(ann)).includes('emoji.create'));
  assertRefused(await host.ask('administrator', 'DELETE', `/groups/${group}`), 409, 'group_in_use');
  const made = await putEmoji(ann, 'logo', picture);
  assert.equal(made.status, 201);
  assert.deepEqual([made.body.name, made.body.is_moving], ['logo', false]);
  assertRefused(await putEmoji(ann, 'logo', picture), 409, 'emoji_taken');
  assertRefused(await putEmoji(bea, 'other', picture), 403, 'right_missing');
  assertRefused(await own(bea, 'DELETE', '/v1/emoji/logo'), 403, 'right_missing');
  await set('custom-emoji', { everybody: true, groups: null });
  // Of somebody else it is the administrators' to take away.
  assertRefused(await own(bea, 'DELETE', '/v1/emoji/logo'), 403, 'right_missing');
  assertRefused(await own(bea, 'DELETE', '/v1/emoji/nothing'), 404, 'emoji_not_found');
  await toldOfOneself(ann, async () => await set('custom-emoji', { everybody: null }));
  assertRefused(await own(ann, 'DELETE', '/v1/emoji/logo'), 403, 'right_missing');
  assertRefused(await host.ask('viewer', 'DELETE', '/emoji/logo'), 403, 'right_missing');
  assert.equal((await host.ask('administrator', 'DELETE', '/emoji/logo')).status, 204);
  assertRefused(await host.ask('administrator', 'DELETE', '/emoji/logo'), 404, 'emoji_not_found');
  const { items } = (await host.ask<{ items: { event: string; about: string }[] }>('owner', 'GET', '/audit')).body;
  const events = items.filter(({ about }) => about === 'emoji:logo').map(({ event }) => event);
  assert.deepEqual(events, ['emoji.removed', 'emoji.created']);
});

test('VND-16 a vendor sees no emoji, and in the trail not what one is called, by a filter neither', async () => {
  const form = { name: 'poor-cat', picture: (await square('blue')).toString('base64') };
  assert.equal((await host.ask('administrator', 'POST', '/emoji', form)).status, 201);
  for (const path of ['/emoji', '/emoji/poor-cat']) {
    assertRefused(await host.ask('vendor_active', 'GET', path), 403, 'vendor_token_forbidden');
  }
  type Trail = { items: { event: string; about: string }[] };
  const asked = async (query: string) => await host.ask<Trail>('vendor_active', 'GET', `/audit?limit=200${query}`);
  const shown = await asked('&event=emoji.created');
  assert.equal(shown.text.includes('poor-cat'), false);
  const [entry] = shown.body.items.filter(({ event }) => event === 'emoji.created');
  assert.match(entry?.about ?? '', /^emoji-[0-9a-f]{8}$/);
  assert.deepEqual((await asked('&about=emoji:poor-cat')).body.items, []);
  assert.equal((await asked(`&about=${entry?.about}`)).body.items[0]?.event, 'emoji.created');
  assert.equal((await host.ask('administrator', 'DELETE', '/emoji/poor-cat')).status, 204);
});

test('SOC-04 a reaction with an emoji of the installation is counted, and stays readable when the emoji is gone', async () => {
  const { cat, dov } = await host.server.people('cat', 'dov');
  const form = { name: 'party', picture: (await square('blue', 300)).toString('base64') };
  assertRefused(await host.ask('viewer', 'POST', '/emoji', form), 403, 'right_missing');
  assert.equal((await host.ask('administrator', 'POST', '/emoji', form)).status, 201);
  const shown = await host.ask<{ items: MadeEmoji[] }>('viewer', 'GET', '/emoji');
  assert.deepEqual(
    shown.body.items.map(({ made_by, name }) => [name, made_by]),
    [['party', 'user:administrator']],
  );
  const pictured = await host.ask<{ type: string; picture: string }>('viewer', 'GET', '/emoji/party');
  const { format, width } = await sharp(Buffer.from(pictured.body.picture, 'base64')).metadata();
  assert.deepEqual([pictured.status, pictured.body.type, format, width], [200, 'image/webp', 'webp', 128]);
  assertRefused(await host.ask('viewer', 'GET', '/emoji/paxty'), 404, 'emoji_not_found');
  const { id } = await start(host.server, cat, 'room', ['dov']);
  await say(host.server, cat, id, 'We are done');
  const socket = await connect(host.server, dov);
  assertRefused(await react(dov, id, ':paxty:'), 400, 'emoji_unknown', 'emoji');
  for (const text of [':Party:', ':party', 'party', '::', ':a b:', `:${'a'.repeat(33)}:`, ':party:x', ':-a:']) {
    assertRefused(await react(dov, id, text), 400, 'field_invalid', 'emoji');
  }
  assert.deepEqual((await react(dov, id, ':party:')).body.reactions, [{ emoji: ':party:', count: 1, users: ['dov'] }]);
  const told = await socket.event('reaction');
  assert.deepEqual(told.data, { seq: 1, user: 'dov', emoji: ':party:', added: true, count: 1, users: ['dov'] });
  await socket.close();
  assert.equal((await host.ask('administrator', 'DELETE', '/emoji/party')).status, 204);
  const path = `/v1/conversations/${id}/messages/1`;
  const after = (await host.server.api<Message>(cat, 'GET', path)).body;
  assert.deepEqual(after.reactions, [{ emoji: ':party:', count: 1, users: ['dov'] }]);
  assertRefused(await react(cat, id, ':party:'), 400, 'emoji_unknown', 'emoji');
  // What is there is taken back all the same.
  assert.equal((await react(dov, id, ':party:', 'DELETE')).body.reactions, undefined);
});

test('QUO-01 a picture for an emoji is opened within its bounds, keeps moving, and takes little', async () => {
  const { eli } = await host.server.people('eli');
  await set('custom-emoji', { everybody: true });
  const drawing = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>';
  const broken = ['', 'no picture', drawing, '\x89PNG\r\n\x1a\n'].map((text) => Buffer.from(text, 'latin1'));
  for (const bytes of [...broken, await film(EMOJI_FRAMES_MAX + 1), Buffer.alloc(EMOJI_BYTES_MAX)]) {
    assertRefused(await putEmoji(eli, 'film', bytes), 400, 'emoji_invalid');
  }
  assertRefused(await putEmoji(eli, 'film', Buffer.alloc(EMOJI_BYTES_MAX + 1)), 400, 'body_too_large');
  const loud = await noise(128, 20).webp({ quality: 60 }).toBuffer();
  assert.ok(loud.length < EMOJI_BYTES_MAX);
  assertRefused(await putEmoji(eli, 'film', loud), 400, 'emoji_invalid');
  for (const name of ['Film', 'a b', '-film', 'f'.repeat(33), ':film:']) {
    assertRefused(await putEmoji(eli, name, await square('red')), 400, 'field_invalid', 'name');
  }
  const made = await putEmoji(eli, 'film', await film(EMOJI_FRAMES_MAX));
  assert.deepEqual([made.status, made.body.is_moving], [201, true]);
  const still = await putEmoji(eli, 'still', await square('red', 300));
  assert.deepEqual([still.status, still.body.is_moving], [201, false]);
  const read = async (name: string, picture: string) =>
    await fetch(`${host.server.coordinator}/v1/emoji/${name}/${picture}`, {
      headers: { authorization: `Bearer ${eli.session.token}` },
    });
  const answer = await read('film', made.body.picture);
  assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'image/webp']);
  assert.equal(answer.headers.get('cache-control'), 'private, max-age=86400, immutable');
  const found = await sharp(Buffer.from(await answer.arrayBuffer()), { pages: -1 }).metadata();
  assert.equal(found.pages, EMOJI_FRAMES_MAX);
  const small = await sharp(Buffer.from(await (await read('still', still.body.picture)).arrayBuffer())).metadata();
  assert.deepEqual([small.format, small.width, small.height], ['webp', 128, 128]);
  assert.equal((await read('film', still.body.picture)).status, 404);
  assert.equal((await read('nothing', still.body.picture)).status, 404);
  assert.equal((await own(eli, 'DELETE', '/v1/emoji/film')).status, 204);
  assert.equal((await own(eli, 'DELETE', '/v1/emoji/still')).status, 204);
  assert.equal((await read('film', made.body.picture)).status, 404);
});

test('QUO-01 of pictures that one person begins to send for emoji, one is waited for', async (context) => {
  const { ewa } = await host.server.people('ewa');
  await set('custom-emoji', { everybody: true });
  const { hostname, port } = new URL(host.server.coordinator);
  const begun = ['one', 'two'].map((name) => {
    const socket = connectTo(Number(port), hostname).setEncoding('latin1');
    context.after(() => socket.destroy());
    const said: string[] = [];
    socket.on('data', (text: string) => said.push(text));
    const head = [`PUT /v1/emoji/${name} HTTP/1.1`, 'host: a', `authorization: Bearer ${ewa.session.token}`];
    socket.write(
      `${[...head, 'content-type: image/png', 'content-length: 9', 'expect: 100-continue'].join('\r\n')}\r\n\r\n`,
    );
    return { said: () => said.join(''), send: (text: string) => socket.write(text) };
  });
  const isBusy = ({ said }: (typeof begun)[number]) => said().includes('"code":"busy"');
  await until(() => begun.some(isBusy), 'one of the two to be refused');
  // The other one is still waited for, and looked at.
  const waiting = begun.find((one) => !isBusy(one));
  waiting?.send('no pictur');
  await until(() => waiting?.said().includes('"code":"emoji_invalid"'), 'the other one to be looked at');
});

test('WEB-02 the SDK learns of emoji by the tag of their list, which survives a restart', async () => {
  await host.server.person('fay');
  await set('custom-emoji', { everybody: true });
  const { coordinator, messaging } = host.server;
  let lists = 0;
  const api = await ParleyClient.signIn({
    coordinatorUrl: coordinator,
    messagingUrl: messaging,
    username: 'fay',
    password: 'password of fay',
    fetch: async (...args) => {
      const answer = await fetch(...args);
      if (answer.url.endsWith('/v1/emoji')) lists += answer.status === 200 ? 1 : 0;
      return answer;
    },
  });
  assert.ok(!(await api.customEmojis.list()).has('wave'));
  await api.customEmojis.list();
  assert.equal(lists, 1);
  const made = await api.customEmojis.make('wave', new Blob([await square('green')]));
  assert.deepEqual(await api.customEmojis.find(':wave:'), made);
  assert.equal(await api.customEmojis.find('👋'), undefined);
  assert.equal(await api.customEmojis.find(':nobody:'), undefined);
  assert.equal((await api.customEmojis.picture(made)).type, 'image/webp');
  assert.equal(lists, 2);
  api.close();
  const tagOf = async (token: string) => {
    const headers = { authorization: `Bearer ${token}` };
    return (await fetch(`${host.server.coordinator}/v1/emoji`, { headers })).headers.get('etag') ?? '';
  };
  const before = await tagOf((await host.server.signIn('fay', 'password of fay')).token);
  await host.restart();
  const { token } = await host.server.signIn('fay', 'password of fay');
  assert.equal(await tagOf(token), before);
  const headers = { authorization: `Bearer ${token}`, 'if-none-match': before };
  assert.equal((await fetch(`${host.server.coordinator}/v1/emoji`, { headers })).status, 304);
  const again = { username: 'fay', password: 'password of fay', session: { ...api.session, token } };
  assert.equal((await own(again, 'DELETE', '/v1/emoji/wave')).status, 204);
  assert.equal((await fetch(`${host.server.coordinator}/v1/emoji`, { headers })).status, 200);
});

let numbers = 0;
/** A telephone number that nobody else of this file has. */
const newPhone = () => `+4420712345${String((numbers += 1)).padStart(2, '0')}`;

async function invite(who: Person, form: object = {}) {
  const whole = { phone: newPhone(), guest_until: inDays(5), ...form };
  return await own<{ id: string; url: string }>(who, 'POST', '/v1/guests', whole);
}

/** A guest whom somebody invited with their app, signed in. */
async function guestOf(who: Person, username: string): Promise<Person> {
  const { body, status, text } = await invite(who, { display_name: `Guest ${username}` });
  assert.equal(status, 201, text);
  const password = `password of ${username}`;
  const exchanged = await request('POST', body.url, { body: { username, password } });
  assert.equal(exchanged.status, 201, exchanged.text);
  return { username, password, session: await host.server.signIn(username, password) };
}

const hostedBy = async (who: Person) => (await own<{ items: HostedGuest[] }>(who, 'GET', '/v1/guests')).body.items;

test('GST-01 a guest is invited by whom the setting names, within its term and number, and the trail says by whom', async () => {
  const { gil, hal } = await host.server.people('gil', 'hal');
  assertRefused(await invite(gil), 403, 'right_missing');
  await set('guests', { groups: await groupOf('Hosts', 'gil'), term_days: 7, per_person: 2 });
  assert.ok((await rightsOf(gil)).includes('guest.invite'));
  assertRefused(await invite(hal), 403, 'right_missing');
  for (const guest_until of [inDays(8), inDays(-1), inDays(0)]) {
    assertRefused(await invite(gil, { guest_until }), 400, 'field_invalid', 'guest_until');
  }
  assertRefused(await invite(gil, { invited_by: 'hal' }), 400, 'field_unknown', 'invited_by');
  const guest = await guestOf(gil, 'gina');
  const waiting = await invite(gil);
  assertRefused(await invite(gil), 409, 'guests_full');
  const states = (await hostedBy(gil)).map((one) => (one.state === 'active' ? one.user : one.id));
  assert.deepEqual(states.toSorted(), ['gina', waiting.body.id].toSorted());
  assert.deepEqual(await hostedBy(hal), []);
  // Another's invitation is none.
  const withdraw = async (who: Person) => await own(who, 'DELETE', `/v1/guests/invitations/${waiting.body.id}`);
  assertRefused(await withdraw(hal), 404, 'invitation_not_found');
  assert.equal((await withdraw(gil)).status, 204);
  assertRefused(await withdraw(gil), 404, 'invitation_not_found');
  const late = await request('POST', waiting.body.url, { body: { username: 'late', password: 'password of late' } });
  assertRefused(late, 410, 'invitation_used');
  const entry = (await own<DirectoryEntry>(gil, 'GET', '/v1/directory/gina')).body;
  assert.deepEqual([entry.kind, entry.invited_by, entry.display_name], ['guest', 'gil', 'Guest gina']);
  assertRefused(await invite(guest), 403, 'right_missing');
  assertRefused(await own(hal, 'DELETE', '/v1/guests/gina'), 404, 'guest_not_found');
  assert.equal((await own(gil, 'DELETE', '/v1/guests/gina')).status, 204);
  assertRefused(await own(gil, 'DELETE', '/v1/guests/gina'), 404, 'guest_not_found');
  assert.equal((await own(guest, 'GET', '/v1/me')).status, 401);
  assert.deepEqual(await hostedBy(gil), []);
  const trail = (await host.ask<{ items: { event: string; actor: string }[] }>('owner', 'GET', '/audit?limit=200'))
    .body;
  const done = trail.items.filter(({ actor }) => actor === 'user:gil').map(({ event }) => event);
  assert.deepEqual(done, ['guest.ended', 'enrollment.withdrawn', 'enrollment.invited', 'enrollment.invited']);
});

test('GST-06 a guest is in no room without their host, whoever adds them, and goes when the host goes', async () => {
  const { ida, jon } = await host.server.people('ida', 'jon');
  await set('room-invitations', { guests: 'unasked' });
  await set('guests', { everybody: true, groups: null, per_person: 10 });
  const guest = await guestOf(ida, 'ines');
  const refused = await host.server.api(jon, 'POST', '/v1/conversations', { kind: 'room', participants: ['ines'] });
  assertRefused(refused, 400, 'participant_unknown', 'participants.0');
  const apart = await start(host.server, jon, 'room', []);
  const add = async (...participants: string[]) =>
    await host.server.api(jon, 'POST', `/v1/conversations/${apart.id}/participants`, { participants });
  assertRefused(await add('ines'), 400, 'participant_unknown', 'participants.0');
  // With their host they come in, also by somebody else.
  assert.equal((await add('ines', 'ida')).status, 200);
  const seats = async () => {
    const { body } = await host.server.api<{ items: { user: string; role: string }[] }>(
      jon,
      'GET',
      `/v1/conversations/${apart.id}/participants`,
    );
    return body.items.map(({ role, user }) => `${user} ${role}`);
  };
  assert.deepEqual(await seats(), ['ida member', 'ines guest', 'jon owner']);
  const socket = await connect(host.server, guest);
  const left = await host.server.api(ida, 'DELETE', `/v1/conversations/${apart.id}/participants/ida`);
  assert.equal(left.status, 204, left.text);
  assert.deepEqual(await seats(), ['jon owner']);
  const read = await host.server.api(guest, 'GET', `/v1/conversations/${apart.id}/messages`);
  assertRefused(read, 403, 'conversation_forbidden');
  await say(host.server, jon, apart.id, 'They are gone');
  await socket.close();
  assert.ok(!socket.events.some(({ type }) => type === 'message.new'));
  assertRefused(await add('ines'), 400, 'participant_unknown', 'participants.0');
  await set('room-invitations', { guests: null });
});

test('GST-06 a guest who was asked into a room comes in only while the host is there', async () => {
  const { kai, lou } = await host.server.people('kai', 'lou');
  await set('guests', { everybody: true });
  await set('room-invitations', { guests: 'asked' });
  const guest = await guestOf(kai, 'kira');
  const { id } = await start(host.server, lou, 'room', ['kai']);
  const added = await host.server.api(lou, 'POST', `/v1/conversations/${id}/participants`, { participants: ['kira'] });
  assert.deepEqual([added.status, (added.body as { invited?: string[] }).invited], [200, ['kira']]);
  await host.server.api(kai, 'DELETE', `/v1/conversations/${id}/participants/kai`);
  const accept = async () => await host.server.api(guest, 'POST', `/v1/room-invitations/${id}/accept`);
  assertRefused(await accept(), 404, 'invitation_not_found');
  await host.server.api(lou, 'POST', `/v1/conversations/${id}/participants`, { participants: ['kai'] });
  assert.equal((await accept()).status, 200);
  // Nor does the link of a meeting let them in without the host.
  const meeting = await own<{ link: string }>(lou, 'POST', '/v1/meetings', { title: 'M', lobby: 'open' });
  assert.equal(meeting.status, 201, meeting.text);
  const join = async (who: Person) =>
    await own(who, 'POST', `/v1/meetings/join/${meeting.body.link.slice(meeting.body.link.lastIndexOf('/') + 1)}`);
  assertRefused(await join(guest), 403, 'meeting_forbidden');
  assert.equal((await join(kai)).status, 200);
  assert.equal((await join(guest)).status, 200);
});

test('GST-06 a guest who is invited into a room comes into it with their account, as long as the host is there', async () => {
  const { nia, ole } = await host.server.people('nia', 'ole');
  await set('guests', { everybody: true });
  await set('room-invitations', { guests: 'asked' });
  const room = await start(host.server, nia, 'room', ['ole']);
  const into = async (who: Person, conversation_id: string) => await invite(who, { conversation_id });
  const foreign = await start(host.server, ole, 'room', []);
  assertRefused(await into(nia, foreign.id), 403, 'conversation_forbidden');
  assertRefused(await into(nia, `c_${'0'.repeat(22)}`), 403, 'conversation_forbidden');
  assertRefused(await into(nia, (await start(host.server, nia, 'direct', ['ole'])).id), 409, 'participants_fixed');
  assertRefused(await into(nia, 'room'), 400, 'field_invalid', 'conversation_id');
  const archived = await start(host.server, nia, 'room', []);
  const shut = await host.server.api(nia, 'PATCH', `/v1/conversations/${archived.id}`, { archived: true });
  assert.equal(shut.status, 200, shut.text);
  assertRefused(await into(nia, archived.id), 409, 'conversation_archived');

  const enrol = async (url: string, username: string, conversation_id?: string): Promise<Person> => {
    const password = `password of ${username}`;
    const exchanged = await request('POST', url, { body: { username, password } });
    assert.equal(exchanged.status, 201, exchanged.text);
    assert.equal(exchanged.body['conversation_id'], conversation_id);
    return { username, password, session: await host.server.signIn(username, password) };
  };
  const roles = async (who: Person) => {
    const path = `/v1/conversations/${room.id}/participants`;
    const { body } = await host.server.api<{ items: { user: string; role: string }[] }>(who, 'GET', path);
    return body.items.map(({ role, user }) => `${user} ${role}`);
  };
  const [first, second] = [await into(nia, room.id), await into(nia, room.id)];
  assert.deepEqual([first.status, second.status], [201, 201], first.text);
  const waiting = (await hostedBy(nia)).map((one) => one.state === 'invited' && one.conversation_id);
  assert.deepEqual(waiting, [room.id, room.id]);
  const socket = await connect(host.server, ole);
  const guest = await enrol(first.body.url, 'nils', room.id);
  await socket.event(({ data, type }) => type === 'membership' && JSON.stringify(data).includes('nils'));
  await socket.close();
  assert.deepEqual(await roles(nia), ['nia owner', 'nils guest', 'ole member']);
  await say(host.server, guest, room.id, 'Here I am');
  // A host who has left has brought the second into the organisation alone.
  const path = `/v1/conversations/${room.id}/participants`;
  assert.equal((await host.server.api(nia, 'PATCH', `${path}/ole`, { role: 'owner' })).status, 200);
  assert.equal((await host.server.api(nia, 'DELETE', `${path}/nia`)).status, 204);
  await enrol(second.body.url, 'noel');
  assert.deepEqual(await roles(ole), ['ole owner']);
});

test('CRD-07 an invitation lets nobody in when its host may invite no more', async () => {
  const { mia, noe } = await host.server.people('mia', 'noe');
  await set('guests', { everybody: true });
  const [first, second] = [await invite(mia), await invite(noe)];
  assert.deepEqual([first.status, second.status], [201, 201]);
  await set('guests', { everybody: null });
  const exchange = async ({ body }: typeof first, username: string) =>
    await request('POST', body.url, { body: { username, password: `password of ${username}` } });
  assertRefused(await exchange(first, 'mona'), 410, 'invitation_used');
  await set('guests', { everybody: true });
  await host.ask('administrator', 'POST', '/users/noe/block');
  assertRefused(await exchange(second, 'nora'), 410, 'invitation_used');
  assert.equal((await exchange(first, 'mona')).status, 201);
});

const exchanged = async (url: string, username: string, password = `password of ${username}`, more = {}) =>
  await request('POST', url, { body: { username, password, ...more } });

test('GST-01 a host learns of ten numbers an hour whether a guest has them, by refusals and by invitations taken back', async () => {
  const { pam, rob, sue } = await host.server.people('pam', 'rob', 'sue');
  await set('guests', { everybody: true, per_person: 100 });
  const taken = newPhone();
  const first = await invite(sue, { phone: taken });
  assert.equal((await exchanged(first.body.url, 'gwen')).status, 201);
  // Two whom somebody asked for one number at once: one of them has it.
  const phone = newPhone();
  const both = [await invite(pam, { phone }), await invite(sue, { phone })];
  const answers = await Promise.all(both.map(async ({ body }, at) => await exchanged(body.url, `gus${at}`)));
  assert.deepEqual(answers.map(({ body, status }) => `${status} ${String(body['code'])}`).toSorted(), [
    '201 undefined',
    '409 phone_taken',
  ]);
  for (let count = 0; count < 5; count += 1) {
    assertRefused(await invite(pam, { phone: taken }), 409, 'phone_taken');
    const { body } = await invite(pam);
    assert.equal((await own(pam, 'DELETE', `/v1/guests/invitations/${body.id}`)).status, 204);
  }
  for (const number of [taken, newPhone()]) {
    const late = await invite(pam, { phone: number });
    assertRefused(late, 429, 'rate_limited');
    assert.ok(Number(late.headers.get('retry-after')) > 0);
  }
  // It is theirs alone, and a host who invites many learns of no number that somebody has.
  for (let count = 0; count < 12; count += 1) assert.equal((await invite(rob)).status, 201);
});

test('CRD-07 whoever has an invitation chooses a name, becomes what it says, and does not list who is here', async () => {
  const { tia } = await host.server.people('tia');
  await set('guests', { everybody: true });
  const [mine, other] = [await invite(tia), await invite(tia)];
  const becoming = { kind: 'owner', role: 'owner', invited_by: 'owner', guest_until: inDays(300) };
  for (const [field, value] of Object.entries(becoming)) {
    const refused = await exchanged(mine.body.url, 'tom', 'password of tom', { [field]: value });
    assertRefused(refused, 400, 'field_unknown', field);
  }
  const names = ['owner', 'tia', 'administrator', 'viewer'];
  for (let count = 0; count < 20; count += 1) {
    // A password that is refused would leave a link as it is, and tell of free names too.
    const tried = await exchanged(mine.body.url, names[count % names.length] ?? '', 'password');
    assertRefused(tried, 409, 'username_taken');
  }
  for (const name of ['tia', 'nobody-of-here']) {
    const late = await exchanged(mine.body.url, name, 'password');
    assertRefused(late, 429, 'rate_limited');
  }
  assertRefused(await exchanged(other.body.url, 'tia'), 409, 'username_taken');
  const made = await Promise.all(['tim', 'tom'].map(async (name) => await exchanged(other.body.url, name)));
  assert.deepEqual(made.map(({ body, status }) => `${status} ${String(body['code'])}`).toSorted(), [
    '201 undefined',
    '410 invitation_used',
  ]);
});

// The last one: who owned the place does not any more.
test('CRD-07 VND-17 an invitation into the console is over once who made it is blocked, or owns the place no more', async () => {
  const link = async (kind: string) => {
    const { body, status, text } = await host.ask<{ url: string }>('owner', 'POST', '/enroll', { kind });
    assert.equal(status, 201, text);
    return body.url;
  };
  const [admin, owner, late, person] = [
    await link('admin'),
    await link('owner'),
    await link('owner'),
    await link('person'),
  ];
  assert.equal((await exchanged(admin, 'uri')).status, 201);
  assert.equal((await exchanged(owner, 'ute')).status, 201);
  const change = async (method: string, path: string, body?: object) => {
    const { status, text } = await host.ask('break_glass', method, path, body);
    assert.ok(status < 300, text);
  };
  await change('POST', '/users/owner/block');
  assertRefused(await exchanged(late, 'vic'), 410, 'invitation_used');
  await change('POST', '/users/owner/unblock');
  await change('PUT', '/console-roles/owner', { role: 'administrator' });
  assertRefused(await exchanged(late, 'vic'), 410, 'invitation_used');
  assert.equal((await exchanged(person, 'vic')).status, 201);
});
