/** Encryption at rest: its state, unlocking, turning it on, rotations, coverage, and the recovery sheet. */
import { DataTable, listOf } from '../../kit/data-table.tsx';
import { Actions, Facts, Part, StateBadge, When } from '../../kit/facts.tsx';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { LoadedPlace, useLoaded } from '../../kit/loaded.tsx';
import { showOnce } from '../../kit/shown-once.tsx';
import { Work } from '../../kit/work.tsx';
import type { ReplyOf } from '../../session/console-api.ts';
import { useScreenContext, type ScreenContext } from '../../screen-context.ts';
import { formatNumber } from '../../words/formats.ts';
import { t, word, type Key } from '../../words/words.ts';

type State = ReplyOf<'get /encryption'>;
type Coverage = ReplyOf<'get /encryption/coverage'>;
type Sheet = ReplyOf<'get /encryption/recovery-sheet'>;

const TONES = { off: 'warning', locked: 'bad', unlocked: 'good' } as const;

export function EncryptionScreen() {
  const context = useScreenContext();
  const state = useLoaded(async () => await context.call('get /encryption', {}));
  const coverage = useLoaded(async () => await context.call('get /encryption/coverage', {}));
  const reload = async () => {
    await Promise.all([state.reload(), coverage.reload()]);
  };
  return (
    <>
      <LoadedPlace of={state}>{(now) => <EncryptionState state={now} reload={reload} />}</LoadedPlace>
      <Part title="encryption.coverage">
        <LoadedPlace of={coverage}>{(now) => <CoverageTables coverage={now} />}</LoadedPlace>
      </Part>
    </>
  );
}

interface StateProps {
  readonly state: State;
  readonly reload: () => Promise<void>;
}

function EncryptionState({ reload, state }: StateProps) {
  return (
    <>
      <Facts
        of={{
          'column.state': <StateBadge tone={TONES[state.state]}>{word('encryption', state.state)}</StateBadge>,
          'encryption.key': state.master_key_id,
          'encryption.check': state.check_value,
          'encryption.since': <When at={state.master_key_since} />,
          'encryption.enabled': <When at={state.enabled_at} />,
          'encryption.sealing': state.is_sealing && t('encryption.under-way'),
        }}
      />
      {state.state === 'off' && (
        <Part title="encryption.enable">
          <NewMasterKey route="post /encryption/enable" submit="encryption.enable" reload={reload} />
        </Part>
      )}
      {state.state === 'locked' && (
        <Part title="encryption.unlock">
          <UnlockForm reload={reload} />
        </Part>
      )}
      {state.state === 'unlocked' && (
        <Part title="encryption.rotate-master">
          <NewMasterKey route="post /encryption/rotate-master" submit="encryption.rotate-master" reload={reload} />
        </Part>
      )}
      {state.state !== 'off' && <StateActions state={state} reload={reload} />}
    </>
  );
}

function keyField(hint: Key) {
  return {
    label: 'encryption.master-key',
    hint,
    type: 'password',
    isRequired: true,
    pattern: '[0-9a-fA-F]{64}',
    maxLength: 64,
    isName: true,
  } as const;
}

function UnlockForm({ reload }: { readonly reload: () => Promise<void> }) {
  const context = useScreenContext();
  return (
    <FieldsForm
      fields={{ master_key: keyField('encryption.key-hint') }}
      submit="encryption.unlock"
      send={async ({ master_key: key }) => {
        await context.call('post /encryption/unlock', { body: { master_key: key } });
        context.notices.say('notice.done');
        await reload();
      }}
    />
  );
}

interface NewMasterKeyProps {
  readonly route: 'post /encryption/enable' | 'post /encryption/rotate-master';
  readonly submit: Key;
  readonly reload: () => Promise<void>;
}

/** A new master key: proposed, kept by its reader, and given back, which proves that it was kept. */
function NewMasterKey({ reload, route, submit }: NewMasterKeyProps) {
  const context = useScreenContext();
  return (
    <>
      <p>{t('encryption.enable-hint')}</p>
      <Actions>
        <Work
          label="encryption.propose"
          isQuiet
          work={async () => {
            const { master_key: secret } = await context.call('post /encryption/propose', {});
            const file = 'parley-master-key.txt';
            void showOnce(context.dialogs, 'encryption.master-key', { hint: 'encryption.propose-hint', secret, file });
          }}
        />
      </Actions>
      <FieldsForm
        fields={{ master_key: keyField('encryption.back-hint') }}
        submit={submit}
        isClearing
        send={async ({ master_key: key }) => {
          const sheet = await context.call(route, { body: { master_key: key } });
          showSheet(context, sheet);
          context.notices.say('notice.done');
          await reload();
        }}
      />
    </>
  );
}

function StateActions({ reload, state: { state } }: StateProps) {
  const context = useScreenContext();
  return (
    <Actions>
      <Work
        label="encryption.sheet"
        isQuiet
        work={async () => showSheet(context, await context.call('get /encryption/recovery-sheet', {}))}
      />
      {state !== 'locked' && (
        <>
          <Work
            label="encryption.rotate-data"
            work={async () => await context.call('post /encryption/rotate-data', {})}
            done={reload}
          />
          <Work
            label="encryption.lock"
            isDanger
            ask={t('encryption.lock-asked')}
            work={async () => await context.call('post /encryption/lock', {})}
            done={reload}
          />
        </>
      )}
    </Actions>
  );
}

/** The sheet as a text to print or to keep. */
function showSheet(context: ScreenContext, sheet: Sheet): void {
  const lines = [
    `master key id: ${sheet.master_key_id}`,
    `check value: ${sheet.check_value}`,
    `master key since: ${sheet.master_key_since}`,
    `encryption since: ${sheet.enabled_at}`,
    `printed: ${sheet.printed_at}`,
    ...sheet.data_keys.map(({ created_at: at, id }) => `data key: ${id} ${at}`),
    ...(sheet.master_key === null ? [] : [`master key: ${sheet.master_key}`]),
    '',
    ...sheet.steps.map((step, at) => `${at + 1}. ${step}`),
  ];
  void showOnce(context.dialogs, 'encryption.sheet', {
    hint: 'encryption.sheet-hint',
    secret: lines.join('\n'),
    file: 'parley-recovery-sheet.txt',
  });
}

function CoverageTables({
  coverage: { attachments, damaged, keys, plain, purposes, sealed },
}: {
  readonly coverage: Coverage;
}) {
  return (
    <>
      <Facts
        of={{
          'encryption.sealed': formatNumber(sealed),
          'encryption.plain': formatNumber(plain),
          'encryption.files-sealed': formatNumber(attachments.sealed),
          'encryption.files-plain': formatNumber(attachments.plain),
          'encryption.damaged':
            damaged.count === 0 ? (
              t('list.none')
            ) : (
              <>
                <StateBadge tone="bad">{formatNumber(damaged.count)}</StateBadge> {damaged.names.join(', ')}
              </>
            ),
        }}
      />
      <DataTable
        caption="encryption.purposes"
        empty="list.empty"
        list={listOf(purposes)}
        columns={[
          { head: 'encryption.purpose', cell: ({ purpose }) => purpose },
          { head: 'encryption.sealed', isNumber: true, cell: (each) => formatNumber(each.sealed) },
          { head: 'encryption.plain', isNumber: true, cell: (each) => formatNumber(each.plain) },
        ]}
      />
      <DataTable
        caption="encryption.keys"
        empty="list.empty"
        list={listOf(keys)}
        columns={[
          { head: 'encryption.key', cell: ({ id }) => id },
          { head: 'column.since', cell: ({ created_at: at }) => <When at={at} /> },
          {
            head: 'column.state',
            cell: ({ is_current: isCurrent }) =>
              isCurrent && <StateBadge tone="good">{t('encryption.current')}</StateBadge>,
          },
          { head: 'encryption.secrets', isNumber: true, cell: ({ secrets }) => formatNumber(secrets) },
        ]}
      />
    </>
  );
}
