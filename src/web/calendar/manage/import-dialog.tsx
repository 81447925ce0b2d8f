/** Entries of a calendar file, taken in one by one, and what became of each. */
import { Alert, Button, FileInput, Group, Modal, Progress, ScrollArea, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ImportProgress, ImportReport } from '#src/protocol/calendars/calendar-files.ts';
import { translate } from '#src/client/translations.ts';
import { currentLanguage, sentenceOf } from '../../kit/language.ts';
import { useCalendar } from '../calendar-context.ts';

/** Faults that are listed here; the report says how many there are. */
const FAULTS_SHOWN = 100;

export function ImportDialog({ calendar }: { readonly calendar: string }) {
  const { t } = useTranslation('calendar');
  const { api, occurrences, open } = useCalendar();
  const [file, setFile] = useState<File | null>(null);
  const [report, setReport] = useState<ImportReport>();
  const [refused, setRefused] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const [progress, setProgress] = useState<ImportProgress>();
  const send = async () => {
    if (file === null) return;
    setBusy(true);
    setRefused(undefined);
    setReport(undefined);
    setProgress(undefined);
    try {
      setReport(await api.importFile(calendar, file, setProgress));
      void occurrences.again(calendar);
    } catch (thrown) {
      setRefused(sentenceOf(thrown));
    }
    setBusy(false);
  };
  return (
    <Modal
      opened
      onClose={() => open(undefined)}
      title={t('manage.import')}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <Stack>
          <FileInput
            label={t('import.file')}
            description={t('import.what')}
            accept=".ics,text/calendar"
            value={file}
            onChange={setFile}
          />
          {progress !== undefined && <Advance progress={progress} />}
          {refused !== undefined && (
            <Alert color="red" role="alert">
              {refused}
            </Alert>
          )}
          {report !== undefined && <Report report={report} />}
          <Group justify="flex-end">
            <Button type="submit" loading={isBusy} disabled={file === null}>
              {t('import.send')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function Advance({ progress: { done, of } }: { readonly progress: ImportProgress }) {
  const { t } = useTranslation('calendar');
  const words = t('import.progress', { done, of });
  return (
    <div>
      <Text size="sm">{words}</Text>
      <Progress value={of === 0 ? 100 : Math.round((100 * done) / of)} aria-label={words} />
    </div>
  );
}

function Report({ report: { failed, faults, imported, replaced, skipped } }: { readonly report: ImportReport }) {
  const { t } = useTranslation('calendar');
  return (
    <Alert color={failed > 0 ? 'orange' : 'green'} role="status">
      <Text size="sm">{t('import.imported', { count: imported })}</Text>
      {replaced > 0 && <Text size="sm">{t('import.replaced', { count: replaced })}</Text>}
      {skipped > 0 && <Text size="sm">{t('import.skipped', { count: skipped })}</Text>}
      {failed > 0 && (
        <>
          <Text size="sm">{t('import.failed', { count: failed })}</Text>
          <ScrollArea.Autosize mah={160} viewportProps={{ tabIndex: 0 }}>
            <ul className="parley-plain-list">
              {faults.slice(0, FAULTS_SHOWN).map(({ code, error, index, line }) => (
                <li key={index}>
                  <Text size="xs">
                    {line === undefined ? '' : `${t('import.line', { line })} `}
                    {translate({ code, message: error }, currentLanguage())}
                  </Text>
                </li>
              ))}
            </ul>
          </ScrollArea.Autosize>
        </>
      )}
    </Alert>
  );
}
