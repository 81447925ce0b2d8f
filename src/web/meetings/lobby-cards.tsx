/** Those who wait to be let in, over whatever is looked at. The cards take no focus: whoever is writing goes on. */
import './meetings.css';
import { Button, Group, Text } from '@mantine/core';
import { DoorOpen } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useChat } from '../chat/chat-context.ts';
import { useName } from '../chat/state/people.ts';
import { harmlessName } from '../kit/harmless-text.ts';
import { sentenceOf } from '../kit/language.ts';
import { useObserved } from '../kit/observable.ts';
import type { Waiting } from './lobby.ts';

/** Beyond these only the number is said: a host lets people in one after another. */
const CARDS_MAX = 5;

export function LobbyCards() {
  const { t } = useTranslation();
  const { lobby } = useChat();
  const waiting = useObserved(lobby, () => lobby.waiting);
  if (waiting.length === 0) return null;
  const more = waiting.length - CARDS_MAX;
  return (
    <section className="parley-lobby" aria-label={t('meeting.lobby.title')}>
      <ul className="parley-plain-list">
        {waiting.slice(0, CARDS_MAX).map((one) => (
          <LobbyCard key={`${one.meeting.id}/${one.user}`} waiting={one} />
        ))}
      </ul>
      {more > 0 && (
        <Text size="sm" c="dimmed" mt="xs">
          {t('meeting.lobby.more', { count: more })}
        </Text>
      )}
    </section>
  );
}

function LobbyCard({ waiting }: { readonly waiting: Waiting }) {
  const { t } = useTranslation();
  const { lobby, people, spoken } = useChat();
  const [refused, setRefused] = useState<string>();
  const name = useName(people, waiting.user);
  const words = t('meeting.lobby.who', { name, title: harmlessName(waiting.meeting.title, t('meeting.title')) });
  const decide = (isAdmitted: boolean) => {
    lobby.decide(waiting, isAdmitted).catch((thrown: unknown) => setRefused(sentenceOf(thrown)));
  };
  useEffect(() => spoken.say(words), [spoken, words]);
  return (
    <li className="parley-lobby-card">
      <Group wrap="nowrap" gap="sm" align="flex-start">
        <DoorOpen size={18} aria-hidden="true" className="parley-lobby-icon" />
        <div>
          <Text className="parley-wrapped">
            <bdi>{words}</bdi>
          </Text>
          {refused !== undefined && (
            <Text size="sm" c="red" role="alert">
              {refused}
            </Text>
          )}
          <Group gap="xs" mt={6}>
            <Button size="compact-sm" aria-label={t('meeting.lobby.admit', { name })} onClick={() => decide(true)}>
              {t('meeting.lobby.admitShort')}
            </Button>
            <Button
              size="compact-sm"
              variant="default"
              aria-label={t('meeting.lobby.deny', { name })}
              onClick={() => decide(false)}
            >
              {t('meeting.lobby.denyShort')}
            </Button>
          </Group>
        </div>
      </Group>
    </li>
  );
}
