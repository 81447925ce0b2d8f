/** Inviting many by a file: what would come of each line is shown first, and the links of those who were invited are a file. */
import { Alert, Button, FileInput, Progress } from '@mantine/core';
import { useState } from 'react';
import { ParleyError } from '#src/client/parley-error.ts';
import { DataTable, listOf } from '../../kit/data-table.tsx';
import { StateBadge } from '../../kit/facts.tsx';
import { saveFile } from '../../kit/shown-once.tsx';
import type { ScreenContext } from '../../screen-context.ts';
import { formatNumber } from '../../words/formats.ts';
import { sentenceOf, t, type Key } from '../../words/words.ts';
import { invitationOf } from './invitation.tsx';
import { COLUMNS, PEOPLE_MAX, readPeople, writeCsv, type PersonLine } from './people-file.ts';

export function importPeople(context: ScreenContext): void {
  void context.dialogs.show({
    title: 'import.title',
    size: 'xl',
    // The links that were made are on this dialog alone.
    isHeld: true,
    content: (close) => <PeopleImport context={context} close={close} />,
  });
}

/** What came of a line: the link that was made, or why none was. */
interface Outcome extends PersonLine {
  readonly url?: string;
  readonly refused?: string;
}

interface PeopleImportProps {
  readonly context: ScreenContext;
  readonly close: () => void;
}

function PeopleImport({ close, context }: PeopleImportProps) {
  const [lines, setLines] = useState<readonly Outcome[]>([]);
  const [fault, setFault] = useState<Key>();
  const [made, setMade] = useState<number>();
  const isWhole = made !== undefined && made === lines.length;
  const look = async (file: File | null) => {
    const read = file === null ? { people: [] } : readPeople(await file.text());
    setFault('fault' in read ? read.fault : undefined);
    setMade(undefined);
    setLines(await withKnown(context, read.people));
  };
  const invite = async () => {
    const outcomes: Outcome[] = [];
    for (const line of lines) {
      outcomes.push(await inviteOne(context, line));
      setMade(outcomes.length);
    }
    setLines(outcomes);
  };
  const good = lines.filter(({ faults }) => faults.length === 0).length;
  return (
    <>
      <p>{t('import.hint', { columns: COLUMNS.join(', '), most: formatNumber(PEOPLE_MAX) })}</p>
      <FileInput
        label={t('import.file')}
        accept="text/csv,.csv"
        placeholder={t('form.choose-file')}
        onChange={(file) => void look(file)}
      />
      {fault !== undefined && (
        <Alert color="red" role="alert" variant="light" mt="sm">
          {t(fault, { most: formatNumber(PEOPLE_MAX) })}
        </Alert>
      )}
      {lines.length > 0 && <Lines lines={lines} />}
      {made !== undefined && !isWhole && (
        <Progress value={(made / lines.length) * 100} aria-label={t('import.under-way')} />
      )}
      <div className="actions">
        {lines.length > 0 && !isWhole && (
          <Button
            aria-disabled={good === 0 || made !== undefined || undefined}
            onClick={() => void (good > 0 && invite())}
          >
            {t('import.invite', { count: good })}
          </Button>
        )}
        {isWhole && <Button onClick={() => saveLinks(lines)}>{t('import.links')}</Button>}
        {(made === undefined || isWhole) && (
          <Button variant="default" onClick={close}>
            {t('action.close')}
          </Button>
        )}
      </div>
    </>
  );
}

function Lines({ lines }: { readonly lines: readonly Outcome[] }) {
  return (
    <DataTable
      caption="import.lines"
      empty="list.empty"
      list={listOf(lines)}
      columns={[
        { head: 'import.line', isNumber: true, cell: ({ line }) => line },
        { head: 'people.name', cell: ({ texts }) => texts.display_name },
        { head: 'people.email', cell: ({ texts }) => texts.email },
        { head: 'people.phone', cell: ({ texts }) => texts.phone },
        { head: 'people.job', cell: ({ texts }) => texts.title },
        { head: 'column.state', cell: (line) => <LineState line={line} /> },
      ]}
    />
  );
}

function LineState({ line: { faults, refused, url } }: { readonly line: Outcome }) {
  if (url !== undefined) return <StateBadge tone="good">{t('import.invited')}</StateBadge>;
  if (refused !== undefined) return <StateBadge tone="bad">{refused}</StateBadge>;
  if (faults.length === 0) return <StateBadge tone="plain">{t('import.good')}</StateBadge>;
  return <StateBadge tone="warning">{faults.map((key) => t(key)).join(' ')}</StateBadge>;
}

/** Marks those whose address somebody here has already. */
async function withKnown(context: ScreenContext, people: readonly PersonLine[]): Promise<PersonLine[]> {
  const judged: PersonLine[] = [];
  for (const person of people) {
    const { email } = person.texts;
    const isLooked = email !== '' && person.faults.length === 0;
    const found = isLooked
      ? await context.call('get /users', { query: { q: email, limit: 5 } }).catch(() => ({ items: [] }))
      : { items: [] };
    const isKnown = found.items.some((user) => user.email?.toLowerCase() === email.toLowerCase());
    judged.push(isKnown ? { ...person, faults: ['import.known'] } : person);
  }
  return judged;
}

async function inviteOne(context: ScreenContext, line: Outcome): Promise<Outcome> {
  if (line.faults.length > 0) return line;
  const body = invitationOf('person', { ...line.texts, guest_until: undefined });
  for (;;) {
    try {
      const { url } = await context.call('post /enroll', { body });
      return { ...line, url };
    } catch (error) {
      const wait = error instanceof ParleyError ? error.retryAfter : undefined;
      if (wait === undefined) return { ...line, refused: sentenceOf(error) };
      // The server takes so many changes a minute, and a file may have more people.
      await context.wait(wait * 1000);
    }
  }
}

/** The links are handed out by whoever invited: the server keeps none of them. */
function saveLinks(lines: readonly Outcome[]): void {
  const rows = lines.map(({ faults, refused, texts, url }) => [
    ...COLUMNS.map((column) => texts[column]),
    url ?? '',
    refused ?? faults.map((key) => t(key)).join(' '),
  ]);
  const csv = writeCsv([[...COLUMNS, 'link', 'refused'], ...rows]);
  saveFile(new Blob([csv], { type: 'text/csv' }), 'parley-invitations.csv');
}
