/** What the person is told of while no page is in front of them: in this browser, of what, and in which hours not. */
import { NativeSelect, Skeleton, Stack, Switch, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Notifications } from '#src/protocol/account/notifications.ts';
import { FormAnswer, type Answer } from '../account/form-answer.tsx';
import { useChat } from '../chat/chat-context.ts';
import { sentenceOf } from '../kit/language.ts';
import { useObserved } from '../kit/observable.ts';
import { QuietHoursFields } from './quiet-hours-fields.tsx';

const LEVELS = ['all', 'mentions', 'none'] as const;

export function NotificationsSection() {
  return (
    <Stack>
      <ThisBrowser />
      <Wanted />
    </Stack>
  );
}

function ThisBrowser() {
  const { t } = useTranslation();
  const { pushes } = useChat();
  const standing = useObserved(pushes, () => pushes.standing);
  const [isBusy, setBusy] = useState(false);
  const [answer, setAnswer] = useState<Answer>();
  const turn = async (isOn: boolean) => {
    setBusy(true);
    setAnswer(undefined);
    try {
      await (isOn ? pushes.turnOn() : pushes.turnOff());
    } catch (thrown) {
      const isUnreached = thrown instanceof DOMException && thrown.name !== 'NotAllowedError';
      if (pushes.standing !== 'denied' || isUnreached) {
        setAnswer({ text: thrown instanceof DOMException ? t('push.unreached') : sentenceOf(thrown), isDone: false });
      }
    }
    setBusy(false);
  };
  return (
    <>
      <Switch
        label={t('push.here')}
        description={t(standing === 'impossible' || standing === 'denied' ? `push.${standing}` : 'push.how')}
        checked={standing === 'on'}
        disabled={isBusy || standing === 'impossible' || standing === 'denied'}
        onChange={(event) => void turn(event.currentTarget.checked)}
      />
      <FormAnswer answer={answer} />
    </>
  );
}

/** Of the account, and so of all of the person's devices. */
function Wanted() {
  const { t } = useTranslation();
  const { client } = useChat();
  const [wanted, setWanted] = useState<Notifications>();
  const [answer, setAnswer] = useState<Answer>();
  const fail = (thrown: unknown) => setAnswer({ text: sentenceOf(thrown), isDone: false });
  useEffect(() => {
    client.account
      .call('readNotifications')
      .then(setWanted, (thrown: unknown) => setAnswer({ text: sentenceOf(thrown), isDone: false }));
  }, [client]);
  const save = async (change: Partial<Notifications>) => {
    if (wanted === undefined) return;
    setWanted({ ...wanted, ...change });
    try {
      setWanted(await client.account.call('putNotifications', { body: { ...wanted, ...change } }));
      setAnswer({ text: t('app.saved'), isDone: true });
    } catch (thrown) {
      setWanted(wanted);
      fail(thrown);
    }
  };
  if (wanted === undefined) return answer === undefined ? <Skeleton height={96} /> : <FormAnswer answer={answer} />;
  return (
    <>
      <NativeSelect
        label={t('push.level')}
        data={LEVELS.map((value) => ({ value, label: t(`push.level.${value}`) }))}
        value={wanted.level}
        onChange={(event) => {
          const level = LEVELS.find((one) => one === event.currentTarget.value);
          if (level !== undefined) void save({ level });
        }}
      />
      <QuietHoursFields quiet={wanted.quiet} onChange={(quiet) => void save({ quiet })} />
      <Text size="xs" c="dimmed">
        {t('push.everywhere')}
      </Text>
      <FormAnswer answer={answer} />
    </>
  );
}
