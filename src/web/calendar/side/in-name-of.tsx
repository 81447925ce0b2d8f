/** In whose name somebody answers what is in a calendar that is not their own. */
import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useChat } from '../../chat/chat-context.ts';
import { useName } from '../../chat/state/people.ts';
import { useObserved } from '../../kit/observable.ts';
import { useCalendar } from '../calendar-context.ts';

export function InNameOf({ calendar }: { readonly calendar: string }) {
  const { list } = useCalendar();
  const known = useObserved(list, () => list.byId(calendar));
  return known?.access === 'delegate' ? <Principal user={known.owner} /> : null;
}

function Principal({ user }: { readonly user: string }) {
  const { t } = useTranslation('calendar');
  const { people } = useChat();
  const name = useName(people, user);
  return (
    <Text size="xs" c="dimmed">
      {t('invitation.for', { name })}
    </Text>
  );
}
