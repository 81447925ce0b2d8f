/** Writing a new entry, or changing one: the form, what the server says against it, and nothing lost by either. */
import { Alert, Button, Group, Modal, Stack } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toParleyError } from '#src/client/parley-error.ts';
import { useChat } from '../../chat/chat-context.ts';
import { sentenceOf } from '../../kit/language.ts';
import { useCalendar } from '../calendar-context.ts';
import { createEntry, saveEntry } from './entry-changes.ts';
import { EntryFields } from './entry-fields.tsx';
import { formOf, isBackwards, isRuleChanged, scopesOf, type Entry, type EntryForm, type Scope } from './entry-form.ts';
import { readOpenEntry, type OpenEntry } from './open-entry.ts';
import { ScopeQuestion } from './scope-question.tsx';

export interface EntryDialogProps {
  readonly form: EntryForm;
  /** What is changed; undefined for a new entry. */
  readonly open: OpenEntry | undefined;
}

export function EntryDialog({ form: first, open }: EntryDialogProps) {
  const { t } = useTranslation('calendar');
  const calendar = useCalendar();
  const [form, setForm] = useState(first);
  const [isLeaving, setLeaving] = useState(false);
  const saving = useSaving(first, open);
  const isTouched = JSON.stringify(form) !== JSON.stringify(first);
  const leave = () => (isTouched ? setLeaving(true) : calendar.open(undefined));
  return (
    <Modal
      opened
      onClose={leave}
      title={open === undefined ? t('form.new') : t('form.edit')}
      closeButtonProps={{ 'aria-label': t('close') }}
      size="xl"
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          saving.begin(form);
        }}
      >
        <EntryFields form={form} onChange={setForm} isNew={open === undefined} />
        <Stack gap="sm" mt="md">
          {saving.refused !== undefined && (
            <Alert color="red" role="alert">
              {saving.refused}
            </Alert>
          )}
          {saving.isConflict && <Conflict onTake={saving.take} onKeep={() => saving.keep(form)} />}
          {isLeaving && <Leaving onStay={() => setLeaving(false)} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={leave}>
              {t('cancel')}
            </Button>
            <Button type="submit" loading={saving.isBusy} disabled={isBackwards(form)}>
              {t('save')}
            </Button>
          </Group>
        </Stack>
      </form>
      {saving.scopes !== undefined && (
        <ScopeQuestion
          title={t('scope.change')}
          scopes={saving.scopes}
          isMove={form.start !== first.start || form.end !== first.end || isRuleChanged(first, form)}
          onAnswer={(scope) => saving.answer(form, scope)}
        />
      )}
    </Modal>
  );
}

function Leaving({ onStay }: { readonly onStay: () => void }) {
  const { t } = useTranslation('calendar');
  const { open } = useCalendar();
  return (
    <Alert color="orange" role="alert" title={t('form.discard')}>
      <Group gap="xs">
        <Button size="compact-sm" color="red" onClick={() => open(undefined)}>
          {t('form.discardYes')}
        </Button>
        <Button size="compact-sm" variant="default" onClick={onStay}>
          {t('form.discardNo')}
        </Button>
      </Group>
    </Alert>
  );
}

/** Somebody else changed it first: theirs is taken, or one's own is written over it, knowingly. */
function Conflict({ onKeep, onTake }: { readonly onTake: () => void; readonly onKeep: () => void }) {
  const { t } = useTranslation('calendar');
  return (
    <Alert color="orange" role="alert" title={t('form.conflict')}>
      <Group gap="xs">
        <Button size="compact-sm" onClick={onTake}>
          {t('form.conflictTake')}
        </Button>
        <Button size="compact-sm" variant="default" onClick={onKeep}>
          {t('form.conflictKeep')}
        </Button>
      </Group>
    </Alert>
  );
}

/** Sending the form: asked which of a series first, and what to do about a conflict then. */
function useSaving(first: EntryForm, open: OpenEntry | undefined) {
  const { t } = useTranslation('calendar');
  const calendar = useCalendar();
  const { me } = useChat();
  const [refused, setRefused] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const [scopes, setScopes] = useState<readonly Scope[]>();
  /** What was meant when somebody else was faster. */
  const [conflict, setConflict] = useState<Scope>();
  const done = (entry: Entry | undefined) => {
    if (entry !== undefined) calendar.notices.say(t(entry.attendees.length > 0 ? 'form.savedTold' : 'form.saved'));
    calendar.open(undefined);
  };
  const attempt = async (scope: Scope, action: () => Promise<Entry | undefined>) => {
    setBusy(true);
    setRefused(undefined);
    setConflict(undefined);
    try {
      done(await action());
    } catch (thrown) {
      if (toParleyError(thrown).code === 'entry_changed') setConflict(scope);
      else setRefused(sentenceOf(thrown));
      setBusy(false);
    }
  };
  const send = (form: EntryForm, scope: Scope, on = open) =>
    void attempt(scope, async () =>
      on === undefined ? await createEntry(calendar, form) : await saveEntry(calendar, on, first, form, scope),
    );
  const newest = async (use: (on: OpenEntry) => void) => {
    try {
      if (open !== undefined) use(await readOpenEntry(calendar.api, open.place));
    } catch (thrown) {
      setConflict(undefined);
      setRefused(sentenceOf(thrown));
    }
  };
  return {
    refused,
    isBusy,
    scopes,
    isConflict: conflict !== undefined,
    begin: (form: EntryForm) => {
      if (open?.series.recurring === true && open.place.recurrence_id !== undefined) {
        setScopes(scopesOf(first, form, open.series));
      } else send(form, 'all');
    },
    answer: (form: EntryForm, scope: Scope | undefined) => {
      setScopes(undefined);
      if (scope !== undefined) send(form, scope);
    },
    take: () =>
      void newest((on) => {
        calendar.open(undefined);
        calendar.open({ kind: 'form', form: formOf(on.entry, on.series, calendar.zone, me), open: on });
      }),
    keep: (form: EntryForm) => void newest((on) => send(form, conflict ?? 'all', on)),
  };
}
