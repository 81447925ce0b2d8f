/** Before something is deleted: which of a series, and who is told. */
import { Button, Group, Modal, Radio, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useChat } from '../../chat/chat-context.ts';
import { currentLocale } from '../../kit/language.ts';
import { useCalendar } from '../calendar-context.ts';
import { deleteEntry } from './entry-changes.ts';
import type { Scope } from './entry-form.ts';
import type { OpenEntry } from './open-entry.ts';
import { wordsOf, type EntryPerson } from './person-name.tsx';

const SCOPES: readonly Scope[] = ['this', 'this_and_following', 'all'];

export function DeleteQuestion({ onClose, open }: { readonly open: OpenEntry; readonly onClose: () => void }) {
  const { t } = useTranslation('calendar');
  const calendar = useCalendar();
  const isPart = open.place.recurrence_id !== undefined;
  const [scope, setScope] = useState<Scope>(isPart ? 'this' : 'all');
  const [isBusy, setBusy] = useState(false);
  const told = useTold(open);
  const send = async () => {
    setBusy(true);
    try {
      await deleteEntry(calendar, open, scope, t);
      calendar.open(undefined);
    } catch (thrown) {
      calendar.notices.refuse(thrown);
      onClose();
    }
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={isPart ? t('scope.delete') : t('delete.title')}
      size="sm"
      centered
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        {isPart && (
          <Radio.Group value={scope} onChange={(next) => setScope(next)} aria-label={t('scope.delete')} mb="md">
            <Stack gap="sm">
              {SCOPES.map((one) => (
                <Radio key={one} value={one} label={t(`scope.${one}`)} />
              ))}
            </Stack>
          </Radio.Group>
        )}
        <Text size="sm">{told}</Text>
        <Group justify="flex-end" mt="lg">
          <Button variant="default" onClick={onClose}>
            {t('cancel')}
          </Button>
          <Button type="submit" color="red" loading={isBusy} data-autofocus>
            {t('details.delete')}
          </Button>
        </Group>
      </form>
    </Modal>
  );
}

/** Who hears of it: those who were invited, or who invited. */
function useTold({ entry: { attendees, organizer }, place }: OpenEntry): string {
  const { t } = useTranslation('calendar');
  const { list } = useCalendar();
  const { me, people } = useChat();
  const calendar = list.byId(place.calendar_id);
  // A delegate takes back what is organised in the owner’s name.
  const whose = calendar?.access === 'delegate' ? calendar.owner : me;
  const nameOf = (person: EntryPerson) => (person.user === undefined ? wordsOf(person) : people.nameOf(person.user));
  if (organizer !== undefined && organizer.user !== whose) return t('delete.declines', { name: nameOf(organizer) });
  const others = attendees.filter(({ user }) => user !== whose);
  if (others.length === 0) return t('delete.only');
  const names = new Intl.ListFormat(currentLocale()).format(others.map(nameOf));
  return t('delete.told', { names });
}
