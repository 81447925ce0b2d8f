/** What an entry says, to read, to answer, and to go on to changing or deleting it. */
import { Alert, Badge, Button, Group, Loader, Modal, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import {
  AlignLeft,
  Bell,
  CalendarClock,
  CalendarDays,
  Clock,
  Lock,
  MapPin,
  Repeat2,
  Trash2,
  Users,
  Video,
} from 'lucide-react';
import { useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useChat } from '../../chat/chat-context.ts';
import { harmlessName, harmlessText } from '../../kit/harmless-text.ts';
import { currentLocale } from '../../kit/language.ts';
import { useObserved } from '../../kit/observable.ts';
import { useCalendar } from '../calendar-context.ts';
import { linkOfMeeting } from '../../meetings/meeting-address.ts';
import { mayWrite } from '../state/calendar-list.ts';
import type { Occurrence, OccurrencePlace } from '../state/occurrence.ts';
import { spanWords } from '../time.ts';
import { AnswerButtons } from './answer-buttons.tsx';
import { DeleteQuestion } from './delete-question.tsx';
import { formOf, type Entry } from './entry-form.ts';
import type { OpenEntry } from './open-entry.ts';
import { PersonName, SentBy } from './person-name.tsx';
import { reminderWords } from './reminder-words.ts';
import { repeatWords } from './repeat-words.ts';
import { useOpenEntry } from './use-open-entry.ts';

export function EntryDetails({ place }: { readonly place: OccurrencePlace }) {
  const { t } = useTranslation('calendar');
  const { open: show } = useCalendar();
  const { again, glance, isEarlier, isGone, open, refused } = useOpenEntry(place);
  const known = open?.entry ?? glance;
  const title = known === undefined ? t('details.title') : harmlessName(known.title, t('untitled'));
  return (
    <Modal
      opened
      onClose={() => show(undefined)}
      title={<bdi className="parley-entry-title">{title}</bdi>}
      closeButtonProps={{ 'aria-label': t('close') }}
      size="md"
    >
      {isGone === true && <Alert color="orange">{t('details.gone')}</Alert>}
      {refused !== undefined && (
        <Alert color="red" role="alert">
          {refused}
        </Alert>
      )}
      {isEarlier === true && (
        <Alert color="gray" mb="sm">
          {open === undefined ? t('details.glance') : t('details.earlier')}
        </Alert>
      )}
      {known === undefined && isGone !== true && refused === undefined && (
        <Loader aria-label={t('loading')} role="status" />
      )}
      {open !== undefined && isGone !== true && <Details open={open} onChanged={again} />}
      {glance !== undefined && (
        <Stack gap="sm">
          <When entry={glance} />
          <Facts entry={glance} calendar={glance.calendar_id} />
        </Stack>
      )}
    </Modal>
  );
}

function Details({ onChanged, open }: { readonly open: OpenEntry; readonly onChanged: () => void }) {
  const { list } = useCalendar();
  const { entry } = open;
  const calendar = useObserved(list, () => list.byId(open.place.calendar_id));
  // A delegate answers for whose calendar it is, whoever organises.
  const isActing = calendar?.access === 'owner' || calendar?.access === 'delegate';
  const asked = calendar?.owner;
  const isAsked = isActing && entry.organizer?.user !== asked && entry.attendees.some(({ user }) => user === asked);
  return (
    <Stack gap="sm">
      <When entry={entry} series={open.series} />
      <Facts entry={entry} calendar={open.place.calendar_id} />
      <People entry={entry} />
      {isAsked && <AnswerButtons calendar={open.place.calendar_id} entry={entry} onAnswered={onChanged} />}
      {isAsked && entry.status !== 'cancelled' && <Propose open={open} />}
      {calendar !== undefined && (mayWrite(calendar) ? <Actions open={open} /> : <ReadOnly />)}
    </Stack>
  );
}

function Propose({ open }: { readonly open: OpenEntry }) {
  const { t } = useTranslation('calendar');
  const { open: show } = useCalendar();
  return (
    <Group>
      <Button
        size="compact-sm"
        variant="subtle"
        leftSection={<CalendarClock size={16} />}
        onClick={() => show({ kind: 'propose', open })}
      >
        {t('propose.open')}
      </Button>
    </Group>
  );
}

function Fact({ children, icon }: { readonly icon: ReactNode; readonly children: ReactNode }) {
  return (
    <Group gap="sm" wrap="nowrap" align="flex-start">
      <Text span c="dimmed" aria-hidden="true" className="parley-fact-icon">
        {icon}
      </Text>
      <div className="parley-fact">{children}</div>
    </Group>
  );
}

function When({ entry, series }: { readonly entry: Entry | Occurrence; readonly series?: Entry }) {
  const { t } = useTranslation('calendar');
  const { zone } = useCalendar();
  const locale = currentLocale();
  const isElsewhere = entry.tz !== undefined && entry.tz !== zone;
  return (
    <>
      <Fact icon={<Clock size={18} />}>
        <Text>{spanWords(entry, locale, zone)}</Text>
        {isElsewhere && (
          <Text size="sm" c="dimmed">
            {t('details.inZone', { when: spanWords(entry, locale, entry.tz ?? zone), zone: entry.tz ?? zone })}
          </Text>
        )}
      </Fact>
      {series?.recurring === true && (
        <Fact icon={<Repeat2 size={18} />}>
          <Text>{repeatWords(series, zone, locale, t)}</Text>
        </Fact>
      )}
    </>
  );
}

function Facts({ calendar: id, entry }: { readonly entry: Partial<Entry>; readonly calendar: string }) {
  const { t } = useTranslation('calendar');
  const { list } = useCalendar();
  const { description = '', location = '', meeting, reminders = [], visibility = 'public' } = entry;
  const calendar = useObserved(list, () => list.byId(id));
  return (
    <>
      {meeting !== undefined && (
        <Fact icon={<Video size={18} />}>
          <JoinMeeting address={meeting.url} />
        </Fact>
      )}
      {location !== '' && (
        <Fact icon={<MapPin size={18} />}>
          <Text className="parley-wrapped">
            <bdi>{harmlessText(location)}</bdi>
          </Text>
        </Fact>
      )}
      {description !== '' && (
        <Fact icon={<AlignLeft size={18} />}>
          <Text className="parley-wrapped parley-entry-text" dir="auto">
            {harmlessText(description)}
          </Text>
        </Fact>
      )}
      {reminders.length > 0 && (
        <Fact icon={<Bell size={18} />}>
          <Text>{reminderWords(reminders, t).join(' · ')}</Text>
        </Fact>
      )}
      {visibility !== 'public' && (
        <Fact icon={<Lock size={18} />}>
          <Text>{visibility === 'private' ? t('details.private') : t('details.confidential')}</Text>
        </Fact>
      )}
      <Fact icon={<CalendarDays size={18} />}>
        <Text>
          <bdi>{harmlessName(calendar?.displayname ?? '', t('untitled'))}</bdi>
        </Text>
      </Fact>
    </>
  );
}

/** A meeting of this installation is joined where one is; any other opens beside. */
function JoinMeeting({ address }: { readonly address: string }) {
  const { t } = useTranslation('calendar');
  const link = linkOfMeeting(address);
  if (link === undefined) {
    return (
      <Button component="a" href={address} target="_blank" rel="noreferrer" size="compact-md">
        {t('details.join')}
      </Button>
    );
  }
  return (
    <Button renderRoot={(props) => <Link {...props} to="/meeting/$link" params={{ link }} />} size="compact-md">
      {t('details.join')}
    </Button>
  );
}

function People({ entry: { attendees, organizer } }: { readonly entry: Entry }) {
  const { t } = useTranslation('calendar');
  if (attendees.length === 0) return null;
  const guests = attendees.filter(({ address }) => address !== organizer?.address);
  return (
    <Fact icon={<Users size={18} />}>
      <Title order={2} size="sm" fw={500}>
        {t('details.people', { count: guests.length })}
      </Title>
      {organizer !== undefined && (
        <Text size="sm" c="dimmed">
          {t('details.organizer', { name: '' })}
          <PersonName person={organizer} />
        </Text>
      )}
      <SentBy delegate={organizer?.sent_by} />
      <ul className="parley-plain-list parley-guests">
        {guests.map((person) => (
          <li key={person.address}>
            <PersonName person={person} />{' '}
            <Badge size="sm" variant="default" tt="none" fw={500} data-answer={person.answer}>
              {t(`answer.state.${person.answer}`)}
            </Badge>
            <SentBy delegate={person.sent_by} />
            {person.comment !== undefined && (
              <Text size="sm" c="dimmed" className="parley-wrapped">
                {harmlessText(person.comment)}
              </Text>
            )}
          </li>
        ))}
      </ul>
    </Fact>
  );
}

function ReadOnly() {
  const { t } = useTranslation('calendar');
  return (
    <Text size="sm" c="dimmed">
      {t('side.readOnly')}
    </Text>
  );
}

function Actions({ open }: { readonly open: OpenEntry }) {
  const { t } = useTranslation('calendar');
  const { open: show, zone } = useCalendar();
  const { me } = useChat();
  const [isDeleting, setDeleting] = useState(false);
  const { list } = useCalendar();
  const calendar = useObserved(list, () => list.byId(open.place.calendar_id));
  const { organizer } = open.entry;
  const isDelegates = calendar?.access === 'delegate' && organizer?.user === calendar.owner;
  const isOwn = organizer === undefined || organizer.user === me || isDelegates;
  return (
    <Group justify="flex-end" mt="xs">
      <Button variant="subtle" color="red" leftSection={<Trash2 size={16} />} onClick={() => setDeleting(true)}>
        {t('details.delete')}
      </Button>
      {isOwn && (
        <Button
          data-autofocus
          onClick={() => show({ kind: 'form', form: formOf(open.entry, open.series, zone, me), open })}
        >
          {t('details.edit')}
        </Button>
      )}
      {isDeleting && <DeleteQuestion open={open} onClose={() => setDeleting(false)} />}
    </Group>
  );
}
