/** A new calendar, one that follows a feed elsewhere, or the name and the colour of one that is there. */
import { Alert, Button, ColorInput, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { sentenceOf } from '../../kit/language.ts';
import { useCalendar } from '../calendar-context.ts';
import { colorOf } from '../state/calendar-list.ts';

const NAME_LENGTH_MAX = 200;
const SWATCHES = ['#1864ab', '#2b8a3e', '#a61e4d', '#862e9c', '#b35c00', '#0b7285', '#5f3dc4', '#c92a2a'];

export function CalendarDialog({ calendar: id }: { readonly calendar: string | undefined }) {
  const { t } = useTranslation('calendar');
  const { open } = useCalendar();
  const { color, feed, isBusy, name, refused, send, setColor, setFeed, setName } = useCalendarForm(id);
  return (
    <Modal
      opened
      onClose={() => open(undefined)}
      title={id === undefined ? t('manage.new') : t('manage.change')}
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <Stack>
          <TextInput
            data-autofocus
            label={t('manage.name')}
            value={name}
            maxLength={NAME_LENGTH_MAX}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <ColorInput
            label={t('manage.color')}
            value={color}
            onChange={setColor}
            swatches={SWATCHES}
            withEyeDropper={false}
            withPicker={false}
          />
          {id === undefined && (
            <TextInput
              label={t('manage.feed')}
              description={t('manage.feedWhat')}
              value={feed}
              onChange={(event) => setFeed(event.currentTarget.value)}
            />
          )}
          {refused !== undefined && (
            <Alert color="red" role="alert">
              {refused}
            </Alert>
          )}
          <Group justify="flex-end">
            <Button type="submit" loading={isBusy} disabled={name.trim() === ''}>
              {t('save')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

/** What is written, and sending it. */
function useCalendarForm(id: string | undefined) {
  const { api, list, open } = useCalendar();
  const before = id === undefined ? undefined : list.byId(id);
  const [name, setName] = useState(before?.displayname ?? '');
  const [color, setColor] = useState(before === undefined ? (SWATCHES[0] ?? '') : colorOf(before));
  const [feed, setFeed] = useState('');
  const [refused, setRefused] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const send = async () => {
    setBusy(true);
    setRefused(undefined);
    const body = { displayname: name, color: /^#[\da-f]{6}$/i.test(color) ? color : '' };
    const source = feed.trim() === '' ? {} : { source: { url: feed.trim() } };
    try {
      if (id === undefined) await api.call('createCalendar', { params: {}, body: { ...body, ...source } });
      else await api.call('changeCalendar', { params: { calendar: id }, body });
      await list.load();
      open(undefined);
    } catch (thrown) {
      setRefused(sentenceOf(thrown));
      setBusy(false);
    }
  };
  return { color, feed, isBusy, name, refused, send, setColor, setFeed, setName };
}
