/** Incoming webhooks as senders made for Slack use them: what becomes of their fields, and what stays refused (BOT-01). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TEXT_LENGTH_MAX } from '#src/protocol/limits.ts';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { WEBHOOK_ATTACHMENTS_MAX, WEBHOOK_BLOCKS_MAX, type MadeWebhook } from '#src/protocol/bots/webhooks.ts';
import type { Reply } from '#test/support/server.ts';
import { shareServer } from '#test/support/shared-server.ts';
import { tablesWithWords } from '#test/support/stored-words.ts';
import { assertRefused, start } from './conversing.ts';

const { alice, bob, server } = await shareServer(['alice', 'bob'], { shards: 2 });

/** A room with a webhook of its own, so that no test meets the rate of another. */
async function hooked() {
  const { id } = await start(server, alice, 'room', ['bob'], 'Alarms');
  const made = await server.api<MadeWebhook>(alice, 'POST', `/v1/conversations/${id}/webhooks`, { name: 'Alarms' });
  assert.equal(made.status, 201, made.text);
  const { path, sender } = made.body;
  const send = async (body: unknown): Promise<Reply<Message>> => await server.api(undefined, 'POST', path, body);
  const messages = async () => {
    const at = `/v1/conversations/${id}/messages?limit=100`;
    return (await server.api<{ items: Message[] }>(bob, 'GET', at)).body.items;
  };
  const shown = async (body: unknown) => {
    const posted = await send(body);
    assert.equal(posted.status, 201, posted.text);
    const message = (await messages()).at(-1);
    assert.deepEqual([message?.kind, message?.sender], ['text', sender]);
    return message?.body;
  };
  return { send, shown, messages };
}

/** What a sender may add to say who it is and where: each is dropped. */
const CLAIMS = {
  username: 'Grayling of finance',
  icon_emoji: ':grayling-emoji:',
  icon_url: 'https://grayling.example/icon.png',
  channel: '#grayling-channel',
  mrkdwn: true,
  link_names: 1,
};

test('GOV-05 BOT-01 the names, icons and channels of senders for Slack change nothing and are stored nowhere', async () => {
  const { messages, shown } = await hooked();
  assert.equal(await shown({ text: 'plain', ...CLAIMS }), 'plain');
  for (const [field, value] of Object.entries(CLAIMS))
    assert.equal(await shown({ text: field, [field]: value }), field);
  assert.equal(await shown({ text: 'any form', username: null, channel: { a: [] } }), 'any form');
  assert.doesNotMatch(JSON.stringify(await messages()), /grayling/i);
  assert.deepEqual(await tablesWithWords(server.folder, ['Grayling', 'grayling']), []);
});

test('BOT-01 attachments and blocks become text', async () => {
  const { shown } = await hooked();
  // Alertmanager, Grafana and GitLab send about this.
  const alarm = {
    ...CLAIMS,
    attachments: [
      {
        title: '[FIRING:1] DiskFull',
        title_link: 'https://alerts.example/1',
        text: 'sda1 is full.',
        fallback: '[FIRING:1] DiskFull | https://alerts.example/1',
        callback_id: '',
        fields: [
          { title: 'Host', value: 'db-1', short: true },
          { title: 'Severity', value: 'page' },
        ],
        footer: 'dropped',
        color: 'danger',
        mrkdwn_in: ['fallback', 'text'],
      },
      { fallback: 'only this', color: '#fff' },
      { pretext: 'before', author_name: 'dropped', text: '', image_url: 'https://x.example/' },
    ],
  };
  assert.equal(
    await shown(alarm),
    [
      '[FIRING:1] DiskFull (https://alerts.example/1)\nsda1 is full.\nHost: db-1\nSeverity: page',
      'only this',
      'before',
    ].join('\n\n'),
  );
  assert.equal(await shown({ text: 'said', attachments: [{ title: 'and', text: 'more' }] }), 'said\n\nand\nmore');
  assert.equal(await shown({ text: 'said', attachments: [] }), 'said');
  const blocks = [
    { type: 'header', text: { type: 'plain_text', text: 'A header' } },
    { type: 'divider' },
    { type: 'section', text: { type: 'mrkdwn', text: 'A section' }, fields: [{ type: 'mrkdwn', text: 'A field' }] },
    {
      type: 'context',
      elements: [
        { type: 'mrkdwn', text: 'A context' },
        { type: 'image', alt_text: 'dropped' },
      ],
    },
    {
      type: 'rich_text',
      elements: [
        {
          type: 'rich_text_section',
          elements: [
            { type: 'text', text: 'Runs ' },
            { type: 'text', text: 'together', style: { bold: true } },
            { type: 'link', url: 'https://x.example/' },
          ],
        },
        { type: 'rich_text_section', elements: [{ type: 'text', text: 'A second line' }] },
      ],
    },
    { type: 'markdown', text: 'Marked' },
  ];
  const said =
    'A header\n\nA section\nA field\n\nA context\n\nRuns togetherhttps://x.example/\nA second line\n\nMarked';
  // Blocks stand in the place of the text, which is what notifications show of them.
  assert.equal(await shown({ text: 'in short', blocks }), said);
  assert.equal(await shown({ blocks, attachments: [{ blocks }] }), `${said}\n\n${said}`);
  assert.equal(await shown({ text: 'in short', blocks: [{ type: 'divider' }] }), 'in short');
});

test('BOT-01 GOV-03 what is hostile in them is refused with its code', async () => {
  const { messages, send } = await hooked();
  const many = (length: number) => Array.from({ length }, () => ({ title: 'y' }));
  const long = 'x'.repeat(TEXT_LENGTH_MAX);
  const cases: [
    body: object,
    code: Parameters<typeof assertRefused>[2],
    field?: string | undefined,
    status?: number,
  ][] = [
    [{}, 'field_invalid', 'text'],
    [{ username: 'x' }, 'field_invalid', 'text'],
    [{ text: '', attachments: [{ color: '#fff' }] }, 'field_invalid', 'text'],
    [{ attachments: [], blocks: [{ type: 'divider' }] }, 'field_invalid', 'text'],
    [{ text: 'x', attachments: 'y' }, 'field_invalid', 'attachments'],
    [{ text: 'x', attachments: ['y'] }, 'field_invalid', 'attachments.0'],
    [{ text: 'x', blocks: [null] }, 'field_invalid', 'blocks.0'],
    [{ text: 'x', attachments: many(WEBHOOK_ATTACHMENTS_MAX + 1) }, 'field_invalid', 'attachments'],
    [{ text: 'x', blocks: many(WEBHOOK_BLOCKS_MAX + 1) }, 'field_invalid', 'blocks'],
    [{ text: 'x', attachments: [{ text: long }] }, 'field_invalid', 'attachments'],
    [{ blocks: [{ text: `${long}x` }] }, 'field_invalid', 'blocks'],
    [{ text: 'x', thread_ts: '1' }, 'field_unknown', 'thread_ts'],
    [{ text: 'x', icon: 'y' }, 'field_unknown', 'icon'],
    ...['sender', 'from', 'user'].flatMap((field): typeof cases => [
      [{ text: 'x', ...CLAIMS, [field]: 'alice' }, 'field_unknown', field],
      [{ attachments: [{}, { text: 'x', [field]: 'alice' }] }, 'field_unknown', `attachments.1.${field}`],
      [
        { attachments: [{ fields: [{ value: 'x', [field]: 'a' }] }] },
        'field_unknown',
        `attachments.0.fields.0.${field}`,
      ],
      [{ blocks: [{ elements: [{ text: 'x', [field]: 'a' }] }] }, 'field_unknown', `blocks.0.elements.0.${field}`],
    ]),
    [{ attachments: [{ text: '{"action":"invite"}' }] }, 'call_step_is_signalling', undefined, 410],
  ];
  for (const [body, code, field, status = 400] of cases) assertRefused(await send(body), status, code, field);
  assert.deepEqual(await messages(), []);
  const widest = { attachments: many(WEBHOOK_ATTACHMENTS_MAX), blocks: [{ text: 'x' }] };
  assert.equal((await send(widest)).status, 201);
  assert.equal((await send({ attachments: [{ text: long }] })).status, 201);
});
