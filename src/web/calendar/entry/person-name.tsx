/** What somebody in an entry is called: as the directory says it of a colleague, as the entry says it of anybody else. */
import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useChat } from '../../chat/chat-context.ts';
import { useName } from '../../chat/state/people.ts';
import { harmlessName } from '../../kit/harmless-text.ts';
import { useObserved } from '../../kit/observable.ts';

export interface EntryPerson {
  readonly user?: string | undefined;
  readonly address: string;
  readonly name?: string | undefined;
}

export function PersonName({ person }: { readonly person: EntryPerson }) {
  if (person.user !== undefined && !person.user.startsWith('resource.')) return <ColleagueName user={person.user} />;
  return <bdi>{wordsOf(person)}</bdi>;
}

function ColleagueName({ user }: { readonly user: string }) {
  const { people } = useChat();
  return <bdi>{useName(people, user)}</bdi>;
}

/** Who wrote, or answered, in somebody’s name, as their delegate. */
export function SentBy({ delegate }: { readonly delegate: EntryPerson | undefined }) {
  return delegate === undefined ? null : <Delegate person={delegate} />;
}

function Delegate({ person }: { readonly person: EntryPerson }) {
  const { t } = useTranslation('calendar');
  const { people } = useChat();
  const name = useObserved(people, () => (person.user === undefined ? wordsOf(person) : people.nameOf(person.user)));
  return (
    <Text size="xs" c="dimmed">
      {t('details.sentBy', { name })}
    </Text>
  );
}

/**
 * A name that is said in one line of text. Who is no colleague chose the name by themselves, so their address stands behind it: an
 * invitation from outside may call its organiser what a colleague is called.
 */
export function wordsOf({ address, name, user }: EntryPerson): string {
  const where = harmlessName(address.replace(/^mailto:/i, ''), '…');
  if (user !== undefined) return harmlessName(name ?? user, '…');
  return name === undefined || name === where ? where : `${harmlessName(name, '…')} (${where})`;
}
