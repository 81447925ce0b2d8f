/** Access policies: who may see, message, call and invite whom, in the order in which they are tried (POL-01). */
import { DataTable, useList } from '../../kit/data-table.tsx';
import { Actions, Hint, Part, ScreenLink, StateBadge } from '../../kit/facts.tsx';
import { allOf, type Choice } from '../../kit/field-specs.ts';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { LoadedPlace, useLoaded } from '../../kit/loaded.tsx';
import { Work } from '../../kit/work.tsx';
import type { ItemOf, ReplyOf } from '../../session/console-api.ts';
import { useScreenContext } from '../../screen-context.ts';
import { t, word } from '../../words/words.ts';

type Policy = ItemOf<'get /policies'>;
type Groups = ReplyOf<'get /groups'>['items'];

const ACTIONS = allOf<Policy['action']>({ see: true, message: true, call: true, invite: true });
const EFFECTS = allOf<Policy['effect']>({ allow: true, deny: true });
const CROWDS = ['everyone', 'people', 'guests'] as const;

export function PoliciesScreen() {
  const context = useScreenContext();
  const groups = useLoaded(async () => (await context.call('get /groups', {})).items);
  return (
    <>
      <Hint>{t('policies.hint')}</Hint>
      <p>
        <ScreenLink to="settings/room-invitations">{t('policies.invitations')}</ScreenLink>
      </p>
      <LoadedPlace of={groups}>{(all) => <Policies groups={all} />}</LoadedPlace>
    </>
  );
}

function Policies({ groups }: { readonly groups: Groups }) {
  const context = useScreenContext();
  const mayWrite = context.may('users:write');
  const list = useList<Policy>(async () => await context.call('get /policies', {}));
  const nameOf = (selector: string) => groups.find(({ id }) => id === selector)?.name ?? word('crowd', selector);
  return (
    <>
      <DataTable
        caption="policies.title"
        empty="policies.empty"
        list={list}
        columns={[
          { head: 'policies.position', cell: ({ position }) => position },
          {
            head: 'policies.effect',
            cell: ({ effect }) => (
              <StateBadge tone={effect === 'allow' ? 'good' : 'bad'}>{word('effect', effect)}</StateBadge>
            ),
          },
          { head: 'policies.from', cell: ({ from }) => nameOf(from) },
          { head: 'policies.action', cell: ({ action }) => word('policy', action) },
          { head: 'policies.to', cell: ({ to }) => nameOf(to) },
          mayWrite && {
            head: 'column.actions',
            cell: (policy) => <PolicyActions policy={policy} reload={list.reload} />,
          },
        ]}
      />
      {mayWrite && (
        <Part title="policies.add">
          <AddPolicy groups={groups} added={list.reload} />
        </Part>
      )}
    </>
  );
}

interface PolicyActionsProps {
  readonly policy: Policy;
  readonly reload: () => Promise<void>;
}

function PolicyActions({ policy: { id, position }, reload }: PolicyActionsProps) {
  const context = useScreenContext();
  const parameters = { policy: id };
  return (
    <Actions>
      {position > 1 && (
        <Work
          label="policies.up"
          size="xs"
          isQuiet
          work={async () =>
            await context.call('patch /policies/:policy', { parameters, body: { position: position - 1 } })
          }
          done={reload}
        />
      )}
      <Work
        label="action.delete"
        size="xs"
        isDanger
        ask={t('policies.delete-asked', { position })}
        work={async () => await context.call('delete /policies/:policy', { parameters })}
        done={reload}
      />
    </Actions>
  );
}

interface AddPolicyProps {
  readonly groups: Groups;
  readonly added: () => Promise<void>;
}

function AddPolicy({ added, groups }: AddPolicyProps) {
  const context = useScreenContext();
  const crowds: Choice[] = [
    ...CROWDS.map((value) => ({ value, label: word('crowd', value) })),
    ...groups.map(({ id, name }) => ({ value: id, label: name })),
  ];
  return (
    <FieldsForm
      fields={{
        effect: {
          kind: 'choice',
          label: 'policies.effect',
          choices: EFFECTS.map((value) => ({ value, label: word('effect', value) })),
        },
        from: { kind: 'choice', label: 'policies.from', choices: crowds },
        action: {
          kind: 'choice',
          label: 'policies.action',
          choices: ACTIONS.map((value) => ({ value, label: word('policy', value) })),
        },
        to: { kind: 'choice', label: 'policies.to', choices: crowds },
      }}
      submit="action.create"
      isClearing
      send={async ({ action, effect, from, to }) => {
        const body = { action: action as Policy['action'], effect: effect as Policy['effect'], from, to };
        await context.call('post /policies', { body });
        context.notices.say('notice.done');
        await added();
      }}
    />
  );
}
