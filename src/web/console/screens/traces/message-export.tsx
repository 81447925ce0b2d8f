/** The export of a conversation's messages as a file: clear data, for owners alone. */
import { Button } from '@mantine/core';
import { useState } from 'react';
import { Actions, StateBadge } from '../../kit/facts.tsx';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { saveFile } from '../../kit/shown-once.tsx';
import { useScreenContext } from '../../screen-context.ts';
import { t } from '../../words/words.ts';

interface Made {
  readonly conversation: string;
  readonly file: Blob;
  readonly isWhole: boolean;
}

export function MessageExportScreen() {
  const context = useScreenContext();
  const [made, setMade] = useState<Made>();
  return (
    <>
      <p>{t('export.hint')}</p>
      <FieldsForm
        fields={{
          conversation: {
            kind: 'conversation',
            label: 'export.conversation',
            hint: 'export.conversation-hint',
            isRequired: true,
            value: context.place.query.get('conversation') ?? '',
          },
        }}
        submit="export.make"
        send={async (values) => {
          const conversation = values.conversation.trim();
          const file = await context.api.download('get /message-export', { query: { conversation } }, context.signal);
          const text = await file.text();
          // An export without its last line was cut short, and says less than it seems to.
          setMade({ conversation, file, isWhole: /(?:^|\n)\{"end":[^\n]*\n?$/.test(text) });
        }}
      />
      <div role="status">
        {made !== undefined && (
          <Actions>
            <StateBadge tone={made.isWhole ? 'good' : 'bad'}>
              {t(made.isWhole ? 'export.whole' : 'export.cut')}
            </StateBadge>
            <Button variant="default" onClick={() => saveFile(made.file, `${made.conversation}.ndjson`)}>
              {t('action.download')}
            </Button>
          </Actions>
        )}
      </div>
    </>
  );
}
