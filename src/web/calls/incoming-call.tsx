/** A card of somebody who calls, with what can be answered. It takes no focus: whoever is writing goes on. */
import { Button, Group, Text } from '@mantine/core';
import { Phone, PhoneOff, Video } from 'lucide-react';
import { useEffect, useId } from 'react';
import { useTranslation } from 'react-i18next';
import type { Call } from '#src/client/calling/call.ts';
import { useChat } from '../chat/chat-context.ts';
import { ANSWER_COLOR } from '../kit/theme.ts';
import { UserAvatar } from '../chat/people/conversation-avatar.tsx';
import { useName } from '../chat/state/people.ts';
import type { CallCenter } from './call-center.ts';
import { useCallConversation, useCallName } from './call-words.ts';

export function IncomingCall({ call, center }: { readonly call: Call; readonly center: CallCenter }) {
  const { t } = useTranslation();
  const { people, spoken } = useChat();
  const id = useId();
  const name = useName(people, call.host);
  const title = useCallName(call);
  const isRoom = useCallConversation(call)?.kind === 'room';
  const words = t(call.video ? 'call.ringsVideo' : 'call.rings', { name });
  useEffect(() => spoken.say(words), [spoken, words]);
  return (
    <div
      className="parley-incoming"
      role="alertdialog"
      aria-labelledby={id}
      data-sounding={center.isSounding || undefined}
    >
      <Group wrap="nowrap" gap="sm">
        <UserAvatar user={call.host} name={name} size={44} hasPresence={false} />
        <div className="parley-person-words">
          <Text fw={650} lineClamp={2} id={id}>
            <bdi>{words}</bdi>
          </Text>
          {isRoom && (
            <Text size="sm" c="dimmed" truncate>
              <bdi>{t('call.ringsIn', { title })}</bdi>
            </Text>
          )}
        </div>
      </Group>
      <Group gap="xs" mt="sm" grow preventGrowOverflow={false}>
        <Button color="red" leftSection={<PhoneOff size={16} />} onClick={() => center.decline(call)}>
          {t('call.decline')}
        </Button>
        <Button color={ANSWER_COLOR} leftSection={<Phone size={16} />} onClick={() => void center.accept(call, false)}>
          {t('call.answer')}
        </Button>
        {call.video && (
          <Button color={ANSWER_COLOR} leftSection={<Video size={16} />} onClick={() => void center.accept(call, true)}>
            {t('call.answerVideo')}
          </Button>
        )}
      </Group>
    </div>
  );
}
