/** Mail as nodes report it: what is held back, what came back, and whether the DNS has what it must. */
import { DataTable, useList } from '../../kit/data-table.tsx';
import { StateBadge, When } from '../../kit/facts.tsx';
import { useScreenContext } from '../../screen-context.ts';
import { t } from '../../words/words.ts';

export function MailScreen() {
  const context = useScreenContext();
  const quarantine = useList(async () => await context.call('get /mail/quarantine', {}));
  const bounces = useList(async () => await context.call('get /mail/group-bounces', {}));
  return (
    <>
      <DataTable
        caption="mail.quarantine"
        empty="mail.no-quarantine"
        list={quarantine}
        columns={[
          { head: 'column.time', cell: ({ at }) => <When at={at} /> },
          { head: 'mail.from', cell: ({ from }) => from },
          { head: 'mail.to', cell: ({ to }) => to },
          { head: 'mail.subject', cell: ({ subject }) => subject },
          { head: 'mail.reason', cell: ({ reason }) => reason },
          { head: 'routing.node', cell: ({ name }) => name },
        ]}
      />
      <DataTable
        caption="mail.bounces"
        empty="mail.no-bounces"
        list={bounces}
        columns={[
          { head: 'column.time', cell: ({ at }) => <When at={at} /> },
          { head: 'mail.group', cell: ({ group }) => group },
          { head: 'mail.to', cell: ({ recipient }) => recipient },
          { head: 'mail.reason', cell: ({ reason }) => reason },
          { head: 'routing.node', cell: ({ name }) => name },
        ]}
      />
      {!context.isVendor && context.may('settings:read') && <DnsRecords />}
    </>
  );
}

function DnsRecords() {
  const context = useScreenContext();
  const list = useList(async () => await context.call('get /mail/dns', {}));
  return (
    <DataTable
      caption="mail.dns"
      empty="mail.no-dns"
      list={list}
      columns={[
        { head: 'mail.domain', cell: ({ domain }) => domain },
        { head: 'mail.record', cell: ({ record, type }) => `${type} ${record}` },
        {
          head: 'column.state',
          cell: ({ matches }) => (
            <StateBadge tone={matches ? 'good' : 'bad'}>{t(matches ? 'mail.matches' : 'mail.differs')}</StateBadge>
          ),
        },
        { head: 'mail.expected', cell: ({ expected }) => expected },
        { head: 'mail.found', cell: ({ found }) => found.join(', ') },
      ]}
    />
  );
}
