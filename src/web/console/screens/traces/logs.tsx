/** The server's last log lines. */
import { useState } from 'react';
import { DataTable, useList } from '../../kit/data-table.tsx';
import { When } from '../../kit/facts.tsx';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { useScreenContext } from '../../screen-context.ts';
import { given } from '../../words/formats.ts';
import { t } from '../../words/words.ts';
import { LevelBadge, LineText } from './log-lines.tsx';

const LEVELS = ['', 'error', 'warn', 'info', 'debug'];

export function LogsScreen() {
  const context = useScreenContext();
  const { query } = context.place;
  const [asked, setAsked] = useState({ level: query.get('level') ?? '', text: query.get('text') ?? '' });
  const list = useList(
    async (after) => await context.call('get /logs', { query: { level: asked.level, text: given(asked.text), after } }),
    [asked.level, asked.text],
  );
  return (
    <>
      <FieldsForm
        fields={{
          level: {
            kind: 'choice',
            label: 'logs.level',
            value: asked.level,
            choices: LEVELS.map((value) => ({ value, label: value || t('list.all') })),
          },
          text: { label: 'logs.text', type: 'search', maxLength: 200, value: asked.text },
        }}
        submit="action.show"
        isFilter
        send={async (next) => {
          context.keepQuery(next);
          setAsked(next);
          await list.reload();
        }}
      />
      <DataTable
        caption="logs.title"
        empty="logs.empty"
        list={list}
        columns={[
          { head: 'column.time', cell: ({ time }) => <When at={time} /> },
          { head: 'logs.level', cell: ({ level }) => <LevelBadge level={level} /> },
          { head: 'logs.thread', cell: ({ thread }) => thread },
          { head: 'logs.line', cell: (line) => <LineText {...line} /> },
        ]}
      />
    </>
  );
}
