/** Over the days: where one is, the ways to other days and views, and to a new event. */
import { ActionIcon, Button, Group, SegmentedControl, Select, Title } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import type { CalendarController } from '@fullcalendar/react';
import { Link } from '@tanstack/react-router';
import { ArrowLeft, CalendarDays, ChevronLeft, ChevronRight, Plus } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useBreakpoint } from '../../kit/breakpoint.ts';
import { useObserved } from '../../kit/observable.ts';
import { useCalendar } from '../calendar-context.ts';
import { VIEW_WORDS, VIEWS, type View } from './views.ts';

export interface CalendarToolbarProps {
  readonly controller: CalendarController;
  readonly title: string;
  readonly view: View;
  readonly isCovered: boolean;
  readonly onView: (view: View) => void;
  readonly onNew: () => void;
  readonly onSide: () => void;
}

export function CalendarToolbar(props: CalendarToolbarProps) {
  const { t } = useTranslation('calendar');
  const { controller, isCovered, onNew, onSide, onView, title } = props;
  const { list } = useCalendar();
  const canWrite = useObserved(list, () => list.preferred !== undefined);
  const unless = (act: () => void) => () => {
    if (!isCovered) act();
  };
  useHotkeys([
    ['T', unless(() => controller.today())],
    ['J', unless(() => controller.next())],
    ['K', unless(() => controller.prev())],
    ['D', unless(() => onView('timeGridDay'))],
    ['W', unless(() => onView('timeGridWeek'))],
    ['M', unless(() => onView('dayGridMonth'))],
    ['A', unless(() => onView('agenda'))],
    ['N', unless(onNew)],
  ]);
  return (
    <header className="parley-calendar-head">
      <ActionIcon component={Link} to="/" variant="subtle" color="gray" className="parley-back" aria-label={t('back')}>
        <ArrowLeft size={20} />
      </ActionIcon>
      <Group gap={4} wrap="nowrap">
        <Button variant="default" size="sm" onClick={() => controller.today()} title={`${t('view.today')} (T)`}>
          {t('view.today')}
        </Button>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={t('view.before')}
          onClick={() => controller.prev()}
        >
          <ChevronLeft size={20} />
        </ActionIcon>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={t('view.after')}
          onClick={() => controller.next()}
        >
          <ChevronRight size={20} />
        </ActionIcon>
      </Group>
      <Title order={1} size="h4" className="parley-calendar-title" aria-live="polite">
        {title}
      </Title>
      <ViewChoice {...props} />
      <Button leftSection={<Plus size={16} />} onClick={onNew} disabled={!canWrite} className="parley-calendar-new">
        {t('event.new')}
      </Button>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        className="parley-calendar-to-side"
        aria-label={t('side.open')}
        onClick={onSide}
      >
        <CalendarDays size={20} />
      </ActionIcon>
    </header>
  );
}

function ViewChoice({ onView, view }: CalendarToolbarProps) {
  const { t } = useTranslation('calendar');
  const isWide = useBreakpoint() === 'wide';
  const data = VIEWS.map((value) => ({ value, label: t(VIEW_WORDS[value]) }));
  if (isWide) {
    return (
      <SegmentedControl
        transitionDuration={0}
        aria-label={t('view.name')}
        value={view}
        onChange={(next) => onView(next)}
        data={data}
      />
    );
  }
  return (
    <Select
      aria-label={t('view.name')}
      className="parley-calendar-views"
      value={view}
      allowDeselect={false}
      onChange={(next) => next !== null && onView(next)}
      data={data}
    />
  );
}
