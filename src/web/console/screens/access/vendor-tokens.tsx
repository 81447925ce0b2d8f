/** Vendor tokens: issuing, the list, revoking (VND-01…05). */
import { DataTable, useList } from '../../kit/data-table.tsx';
import { Hint, LastUse, Part, StateBadge, When } from '../../kit/facts.tsx';
import { allOf, NAME_FIELD } from '../../kit/field-specs.ts';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { showOnce } from '../../kit/shown-once.tsx';
import { Work } from '../../kit/work.tsx';
import type { ItemOf } from '../../session/console-api.ts';
import { useScreenContext } from '../../screen-context.ts';
import { t, word } from '../../words/words.ts';

type Token = ItemOf<'get /vendor-tokens'>;

const VENDORS = allOf<Token['vendor']>({ parley: true, integrator: true, hosting: true });
const TERM_YEARS = [1, 2, 3] as const;
const YEAR_DAYS = 365;
const TONES = { active: 'good', revoked: 'bad', expired: 'plain' } as const;

export function VendorTokensScreen() {
  const context = useScreenContext();
  const list = useList<Token>(async (after) => await context.call('get /vendor-tokens', { query: { after } }));
  // The break-glass account revokes and does not issue (VND-01).
  const isIssuer = context.me.kind === 'person' && context.me.role === 'owner';
  return (
    <>
      <Hint>{t('vendor.hint')}</Hint>
      <DataTable
        caption="vendor.title"
        empty="vendor.empty"
        list={list}
        columns={[
          { head: 'column.name', cell: ({ name }) => name },
          { head: 'vendor.vendor', cell: ({ vendor }) => vendor },
          { head: 'vendor.purpose', cell: ({ purpose }) => purpose },
          {
            head: 'column.state',
            cell: ({ revoked_at: at, revoked_by: by, state }) => (
              <>
                <StateBadge tone={TONES[state]}>{word('state', state)}</StateBadge>{' '}
                <small>
                  <When at={at} by={by} />
                </small>
              </>
            ),
          },
          { head: 'vendor.issued', cell: ({ issued_at: at, issued_by: by }) => <When at={at} by={by} /> },
          { head: 'column.until', cell: ({ expires_at: until }) => <When at={until} /> },
          {
            head: 'vendor.used',
            cell: ({ last_used_address: address, last_used_at: at }) => <LastUse at={at} address={address} />,
          },
          {
            head: 'column.actions',
            cell: ({ id, name, state }) =>
              state === 'active' && (
                <Work
                  label="vendor.revoke"
                  size="xs"
                  isDanger
                  isQuiet
                  ask={t('vendor.revoke-asked', { name })}
                  work={async () => {
                    await context.call('post /vendor-tokens/:id/revoke', { parameters: { id } });
                    context.notices.say('vendor.revoked', { name });
                  }}
                  done={list.reload}
                />
              ),
          },
        ]}
      />
      {isIssuer && (
        <Part title="vendor.issue">
          <IssueForm issued={list.reload} />
        </Part>
      )}
    </>
  );
}

function IssueForm({ issued }: { readonly issued: () => Promise<void> }) {
  const context = useScreenContext();
  return (
    <FieldsForm
      fields={{
        name: NAME_FIELD,
        vendor: {
          kind: 'choice',
          label: 'vendor.vendor',
          choices: VENDORS.map((value) => ({ value, label: value })),
        },
        purpose: {
          kind: 'text',
          label: 'vendor.purpose',
          hint: 'vendor.purpose-hint',
          isRequired: true,
          maxLength: 500,
          rows: 2,
        },
        term_days: {
          kind: 'choice',
          label: 'vendor.term',
          choices: TERM_YEARS.map((years) => ({
            value: String(years * YEAR_DAYS),
            label: t(`vendor.years-${years}`),
          })),
        },
      }}
      submit="vendor.issue"
      isClearing
      send={async ({ name, purpose, term_days: days, vendor }) => {
        const body = {
          name: name.trim(),
          vendor: vendor as Token['vendor'],
          // One line of the trail, whatever the field lets somebody type.
          purpose: purpose.trim().replaceAll(/\s+/g, ' '),
          term_days: Number(days),
        };
        const { token } = await context.call('post /vendor-tokens', { body });
        void showOnce(context.dialogs, 'vendor.token', { hint: 'vendor.token-hint', secret: token });
        await issued();
      }}
    />
  );
}
