/** One's own second factor: passkeys, recovery codes, another authenticator (TFA-01). */
import { Button } from '@mantine/core';
import { useState } from 'react';
import { hasPasskeys, makePasskey } from '#src/client/passkey.ts';
import { DataTable, useList } from '../../kit/data-table.tsx';
import { Actions, LastUse, Part, When } from '../../kit/facts.tsx';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { showOnce } from '../../kit/shown-once.tsx';
import { Work } from '../../kit/work.tsx';
import { CODE_FIELD } from '../../sign-in/code-fields.ts';
import { SecondFactorSetup } from '../../sign-in/second-factor-setup.tsx';
import { useScreenContext } from '../../screen-context.ts';
import { t } from '../../words/words.ts';

export function AccountScreen() {
  const context = useScreenContext();
  const [isReplacing, setReplacing] = useState(false);
  if (isReplacing) {
    return (
      <SecondFactorSetup
        api={{ call: async (name, input) => await context.call(name, input) }}
        onDone={() => {
          setReplacing(false);
          context.notices.say('notice.done');
        }}
      />
    );
  }
  return (
    <>
      {hasPasskeys() && (
        <Part title="account.passkeys">
          <Passkeys />
        </Part>
      )}
      <Part title="account.codes">
        <p>{t('account.codes-hint')}</p>
        <FieldsForm
          fields={{ code: CODE_FIELD }}
          submit="account.codes"
          isClearing
          send={async ({ code }) => {
            const body = { code: code.trim() };
            const { recovery_codes: codes } = await context.call('post /second-factor/recovery-codes', { body });
            void showOnce(context.dialogs, 'factor.codes', {
              hint: 'factor.codes-hint',
              secret: codes.join('\n'),
              file: 'parley-recovery-codes.txt',
            });
          }}
        />
      </Part>
      <Part title="account.replace">
        <p>{t('account.replace-hint')}</p>
        <Actions>
          <Button variant="default" onClick={() => setReplacing(true)}>
            {t('account.replace')}
          </Button>
        </Actions>
      </Part>
    </>
  );
}

/** The person's passkeys, and adding one. */
function Passkeys() {
  const context = useScreenContext();
  const list = useList(async () => await context.call('get /second-factor/passkeys', {}));
  return (
    <>
      <DataTable
        caption="account.passkeys"
        empty="account.no-passkeys"
        list={list}
        columns={[
          { head: 'column.name', cell: ({ name }) => name },
          { head: 'column.since', cell: ({ created_at: since }) => <When at={since} /> },
          { head: 'vendor.used', cell: ({ last_used_at: used }) => <LastUse at={used} /> },
          {
            head: 'column.actions',
            cell: ({ id }) => (
              <Work
                label="account.passkey-remove"
                size="xs"
                isDanger
                work={async () =>
                  await context.call('delete /second-factor/passkeys/:passkey', { parameters: { passkey: id } })
                }
                done={list.reload}
              />
            ),
          },
        ]}
      />
      <FieldsForm
        fields={{ name: { label: 'account.passkey-name', isRequired: true, maxLength: 100 } }}
        submit="account.passkey-add"
        isClearing
        send={async ({ name }) => {
          const passkey = await makePasskey(await context.call('get /second-factor/passkeys/options', {}));
          await context.call('post /second-factor/passkeys', { body: { name: name.trim(), passkey } });
          context.notices.say('notice.done');
          await list.reload();
        }}
      />
    </>
  );
}
