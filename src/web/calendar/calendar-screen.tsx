/** The calendar: the days, the calendars beside them, and what is opened over both. */
import { Alert, Button, Drawer, Group } from '@mantine/core';
import { useCalendarController } from '@fullcalendar/react';
import { useDisclosure } from '@mantine/hooks';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useChat } from '../chat/chat-context.ts';
import { useObserved } from '../kit/observable.ts';
import './calendar.css';
import {
  CalendarContext,
  makeCalendarState,
  useCalendar,
  type CalendarContextValue,
  type Opened,
} from './calendar-context.ts';
import { CalendarSide } from './side/calendar-side.tsx';
import { NoticeLine } from './side/notice-line.tsx';
import { ownZone } from './time.ts';
import { CalendarView } from './view/calendar-view.tsx';

const importDetails = async () => ({ default: (await import('./entry/entry-details.tsx')).EntryDetails });
const importDialog = async () => ({ default: (await import('./entry/entry-dialog.tsx')).EntryDialog });
const CalendarDialog = lazy(async () => ({ default: (await import('./manage/calendar-dialog.tsx')).CalendarDialog }));
const ImportDialog = lazy(async () => ({ default: (await import('./manage/import-dialog.tsx')).ImportDialog }));
const ShareDialog = lazy(async () => ({ default: (await import('./manage/share-dialog.tsx')).ShareDialog }));
const EntryDetails = lazy(importDetails);
const EntryDialog = lazy(importDialog);
const ProposeTime = lazy(async () => ({ default: (await import('./entry/propose-time.tsx')).ProposeTime }));

export function CalendarScreen() {
  const { t } = useTranslation('calendar');
  const { client } = useChat();
  const [state] = useState(() => makeCalendarState(client));
  const [opened, open] = useState<Opened>();
  useEffect(() => state.start(), [state]);
  useEffect(() => {
    // The days are drawn first. Then what is opened over them comes, so that it is there without a connection.
    Promise.all([importDetails(), importDialog()]).catch(() => undefined);
  }, []);
  useAddressed(open);
  const value = useMemo<CalendarContextValue>(() => ({ ...state, zone: ownZone(), open }), [state]);
  const controller = useCalendarController();
  const [isSideOpen, side] = useDisclosure(false);
  const goTo = (day: string) => controller.gotoDate(day);
  return (
    <CalendarContext value={value}>
      <section className="parley-calendar" aria-label={t('title')}>
        <div className="parley-calendar-main">
          <Standing />
          <CalendarView controller={controller} onSide={side.open} isCovered={opened !== undefined} />
        </div>
        <aside className="parley-calendar-side" aria-label={t('side.open')}>
          <CalendarSide onDay={goTo} />
        </aside>
        <Drawer
          opened={isSideOpen}
          onClose={side.close}
          title={t('side.open')}
          closeButtonProps={{ 'aria-label': t('close') }}
          size="xs"
        >
          <CalendarSide onDay={goTo} />
        </Drawer>
        <Over opened={opened} />
        <NoticeLine />
      </section>
    </CalendarContext>
  );
}

/** Opens what the address names, as a reminder leads to it, once: whoever closes it and comes back sees the days. */
function useAddressed(open: CalendarContextValue['open']): void {
  const { calendar, entry, occurrence } = useSearch({ from: '/calendar' });
  const navigate = useNavigate();
  useEffect(() => {
    if (calendar === undefined || entry === undefined) return;
    open({ kind: 'details', place: { calendar_id: calendar, entry_id: entry, recurrence_id: occurrence } });
    void navigate({ to: '/calendar', search: {}, replace: true });
  }, [calendar, entry, navigate, occurrence, open]);
}

function Over({ opened }: { readonly opened: Opened | undefined }) {
  return (
    <Suspense>
      {opened?.kind === 'details' && <EntryDetails place={opened.place} />}
      {opened?.kind === 'propose' && <ProposeTime open={opened.open} />}
      {opened?.kind === 'calendar' && <CalendarDialog calendar={opened.calendar} />}
      {opened?.kind === 'import' && <ImportDialog calendar={opened.calendar} />}
      {opened?.kind === 'share' && <ShareDialog calendar={opened.calendar} />}
      {opened?.kind === 'form' && (
        <EntryDialog key={opened.open?.series.etag ?? ''} form={opened.form} open={opened.open} />
      )}
    </Suspense>
  );
}

/** What stands between the person and what is true: a server that refuses, too much in one answer. The frame says where there is no connection. */
function Standing() {
  const { t } = useTranslation('calendar');
  const { list, occurrences } = useCalendar();
  const refused = useObserved(list, () => list.refused);
  const unread = useObserved(occurrences, () => occurrences.refused);
  const isCut = useObserved(occurrences, () => occurrences.isCut);
  const trouble = refused ?? unread;
  if (trouble !== undefined) {
    return (
      <Alert color="red" role="alert" radius={0} py={6}>
        <Group gap="sm">
          {trouble}
          <Button size="compact-xs" variant="default" onClick={() => void list.load()}>
            {t('retry')}
          </Button>
        </Group>
      </Alert>
    );
  }
  if (!isCut) return null;
  return (
    <Alert color="orange" role="status" radius={0} py={6}>
      {t('cut')}
    </Alert>
  );
}
