/** The live recovery codes of guests, for an administrator to read to them (GST-02). */
import { Button } from '@mantine/core';
import { useState } from 'react';
import { DataTable, useList } from '../../kit/data-table.tsx';
import { Actions, When } from '../../kit/facts.tsx';
import { useScreenContext } from '../../screen-context.ts';
import { t } from '../../words/words.ts';

export function RecoveryScreen() {
  // Every look is in the audit trail, so that nobody looks by coming past.
  const [looks, setLooks] = useState(0);
  return (
    <>
      <p>{t('recovery.hint')}</p>
      <Actions>
        <Button onClick={() => setLooks(looks + 1)}>{t('recovery.look')}</Button>
      </Actions>
      {looks > 0 && <RecoveryCodes key={looks} />}
    </>
  );
}

function RecoveryCodes() {
  const context = useScreenContext();
  const list = useList(async () => await context.call('get /recovery', {}));
  return (
    <DataTable
      caption="recovery.title"
      empty="recovery.empty"
      list={list}
      columns={[
        { head: 'people.user', cell: ({ user }) => user },
        { head: 'people.phone', cell: ({ phone }) => phone },
        { head: 'recovery.code', cell: ({ code }) => <code translate="no">{code}</code> },
        { head: 'recovery.requested', cell: ({ requested_at: at }) => <When at={at} /> },
        { head: 'column.until', cell: ({ expires_at: until }) => <When at={until} /> },
        { head: 'recovery.attempts', isNumber: true, cell: ({ attempts_left: left }) => left },
      ]}
    />
  );
}
