/** Bots: making, what each may, another token, revoking (CRD-04, BOT-01). */
import { DataTable, useList } from '../../kit/data-table.tsx';
import { Actions, LastUse, Part, ScreenLink, StateBadge } from '../../kit/facts.tsx';
import { CONVERSATION_ID } from '../../kit/control.tsx';
import { allOf, type FieldSpecs } from '../../kit/field-specs.ts';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { showOnce } from '../../kit/shown-once.tsx';
import { Work } from '../../kit/work.tsx';
import type { ItemOf } from '../../session/console-api.ts';
import { useScreenContext, type ScreenContext } from '../../screen-context.ts';
import { namesIn } from '../../words/formats.ts';
import { t, word } from '../../words/words.ts';
import { BotPage } from './bot.tsx';

type Bot = ItemOf<'get /bots'>;
type Scope = Bot['scopes'][number];

const SCOPES = allOf<Scope>({
  'commands:write': true,
  'conversations:read': true,
  'conversations:write': true,
  'events:subscribe': true,
  'messages:read': true,
  'messages:write': true,
  'pins:write': true,
  'presence:read': true,
  'presence:write': true,
  'reactions:write': true,
  'receipts:write': true,
  'signals:read': true,
  'signals:write': true,
});

export function BotsScreen() {
  const [id] = useScreenContext().place.rest;
  return id === undefined ? <BotList /> : <BotPage id={id} />;
}

function BotList() {
  const context = useScreenContext();
  const mayWrite = context.may('settings:write');
  const list = useList<Bot>(async (after) => await context.call('get /bots', { query: { after } }));
  return (
    <>
      <DataTable
        caption="bots.title"
        empty="bots.empty"
        list={list}
        columns={[
          { head: 'people.user', cell: ({ id, user }) => <ScreenLink to={`bots/${id}`}>{user}</ScreenLink> },
          { head: 'people.name', cell: ({ display_name: name }) => name },
          {
            head: 'column.state',
            cell: ({ state }) => (
              <StateBadge tone={state === 'active' ? 'good' : 'bad'}>{word('state', state)}</StateBadge>
            ),
          },
          { head: 'bots.scopes', cell: ({ scopes }) => scopes.join(', ') },
          { head: 'bots.conversations', cell: ({ conversations }) => conversations.join(', ') },
          {
            head: 'vendor.used',
            cell: ({ last_used_address: address, last_used_at: at }) => <LastUse at={at} address={address} />,
          },
          mayWrite && {
            head: 'column.actions',
            cell: (bot) => bot.state === 'active' && <BotActions bot={bot} reload={list.reload} />,
          },
        ]}
      />
      {mayWrite && (
        <Part title="bots.add">
          <FieldsForm
            fields={{
              name: {
                label: 'people.user',
                hint: 'bots.name-hint',
                isRequired: true,
                maxLength: 60,
                isName: true,
              },
              ...rightsFields(),
            }}
            submit="action.create"
            isClearing
            onType={takeRoom}
            send={async ({ name, ...rights }) => {
              const body = { name: name.trim(), ...rightsOf(rights) };
              showToken(context, (await context.call('post /bots', { body })).token);
              await list.reload();
            }}
          />
        </Part>
      )}
    </>
  );
}

function showToken(context: ScreenContext, token: string): void {
  void showOnce(context.dialogs, 'bots.token', { hint: 'bots.token-hint', secret: token });
}

interface BotActionsProps {
  readonly bot: Bot;
  readonly reload: () => Promise<void>;
}

function BotActions({ bot, reload }: BotActionsProps) {
  const context = useScreenContext();
  const parameters = { id: bot.id };
  return (
    <Actions>
      <Work label="bots.change" size="xs" isQuiet work={async () => await changeRights(context, bot, reload)} />
      <Work
        label="bots.another"
        size="xs"
        isQuiet
        ask={t('bots.another-asked', { user: bot.user })}
        work={async () => showToken(context, (await context.call('post /bots/:id/token', { parameters })).token)}
        done={reload}
      />
      <Work
        label="vendor.revoke"
        size="xs"
        isDanger
        ask={t('bots.revoke-asked', { user: bot.user })}
        work={async () => await context.call('post /bots/:id/revoke', { parameters })}
        done={reload}
      />
    </Actions>
  );
}

async function changeRights(context: ScreenContext, bot: Bot, reload: () => Promise<void>): Promise<void> {
  await context.dialogs.show({
    title: 'bots.change',
    content: (close) => (
      <FieldsForm
        fields={rightsFields(bot)}
        submit="action.save"
        onType={takeRoom}
        send={async (rights) => {
          await context.call('patch /bots/:id', { parameters: { id: bot.id }, body: rightsOf(rights) });
          close();
          context.notices.say('notice.done');
          await reload();
        }}
      />
    ),
  });
}

function rightsFields(bot?: Bot) {
  return {
    display_name: { label: 'people.name', isRequired: true, maxLength: 100, value: bot?.display_name ?? '' },
    scopes: {
      kind: 'ticks',
      label: 'bots.scopes',
      choices: SCOPES.map((value) => ({ value, label: value })),
      ticked: bot?.scopes,
    },
    conversations: {
      kind: 'text',
      label: 'bots.conversations',
      hint: 'bots.conversations-hint',
      isName: true,
      value: bot?.conversations.join('\n') ?? '',
    },
    room: { kind: 'conversation', label: 'bots.add-room' },
  } as const satisfies FieldSpecs;
}

interface Rights {
  readonly display_name: string;
  readonly scopes: readonly string[];
  readonly conversations: string;
}

function rightsOf({ conversations, display_name: name, scopes }: Rights) {
  return { display_name: name.trim(), scopes: [...scopes] as Scope[], conversations: namesIn(conversations) };
}

/** A room that was chosen by its title goes to the others, and the field is empty for the next one. */
function takeRoom(name: string, { conversations, room }: { readonly conversations: string; readonly room: string }) {
  const chosen = room.trim();
  if (name !== 'room' || !CONVERSATION_ID.test(chosen)) return undefined;
  return { conversations: [...namesIn(conversations), chosen].join('\n'), room: '' };
}
