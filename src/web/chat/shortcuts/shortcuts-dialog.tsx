/** Every key that does something, by where it does. */
import { Kbd, Modal, Table, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';

const KEYS = [
  {
    place: 'shortcuts.anywhere',
    keys: [
      { keys: ['Ctrl', 'K'], does: 'list.search' },
      { keys: ['Ctrl', 'Shift', 'F'], does: 'search.title' },
      { keys: ['Alt', '↑'], does: 'shortcuts.before' },
      { keys: ['Alt', '↓'], does: 'shortcuts.after' },
      { keys: ['Ctrl', '/'], does: 'shortcuts.title' },
    ],
  },
  {
    place: 'shortcuts.call',
    keys: [
      { keys: ['Ctrl', 'Shift', 'S'], does: 'shortcuts.answer' },
      { keys: ['Ctrl', 'Shift', 'D'], does: 'shortcuts.decline' },
      { keys: ['Ctrl', 'Shift', 'M'], does: 'shortcuts.mute' },
      { keys: ['Esc'], does: 'shortcuts.shrink' },
    ],
  },
  {
    place: 'shortcuts.calendar',
    keys: [
      { keys: ['T'], does: 'shortcuts.today' },
      { keys: ['J'], does: 'shortcuts.later' },
      { keys: ['K'], does: 'shortcuts.earlier' },
      { keys: ['D'], does: 'shortcuts.day' },
      { keys: ['W'], does: 'shortcuts.week' },
      { keys: ['M'], does: 'shortcuts.month' },
      { keys: ['A'], does: 'shortcuts.agenda' },
      { keys: ['N'], does: 'shortcuts.newEvent' },
    ],
  },
  {
    place: 'shortcuts.field',
    keys: [
      { keys: ['Enter'], does: 'composer.send' },
      { keys: ['Shift', 'Enter'], does: 'shortcuts.line' },
      { keys: ['↑'], does: 'shortcuts.editLast' },
      { keys: ['Esc'], does: 'shortcuts.leave' },
      { keys: ['@'], does: 'composer.mentions' },
      { keys: ['Ctrl', 'B'], does: 'shortcuts.bold' },
      { keys: ['Ctrl', 'I'], does: 'shortcuts.italic' },
      { keys: ['Ctrl', 'E'], does: 'shortcuts.code' },
      { keys: ['Ctrl', 'Shift', 'X'], does: 'shortcuts.strike' },
    ],
  },
] as const;

export function ShortcutsDialog({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Modal opened onClose={onClose} title={t('shortcuts.title')} closeButtonProps={{ 'aria-label': t('app.close') }}>
      {KEYS.map(({ keys, place }) => (
        <section key={place} aria-label={t(place)}>
          <Title order={3} size="sm" mt="sm">
            {t(place)}
          </Title>
          <Table>
            <Table.Tbody>
              {keys.map(({ does, keys: pressed }) => (
                <Table.Tr key={pressed.join('+')}>
                  <Table.Th scope="row" fw={400}>
                    {t(does)}
                  </Table.Th>
                  <Table.Td ta="end">
                    {pressed.map((key, index) => (
                      <span key={key}>
                        {index > 0 && ' + '}
                        <Kbd>{key}</Kbd>
                      </span>
                    ))}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </section>
      ))}
    </Modal>
  );
}
