/** What the installation knows of the person, as a file of their own (GET /v1/me/export). */
import { Button, Stack, Text } from '@mantine/core';
import { Download } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useChat } from '../chat/chat-context.ts';
import { sentenceOf } from '../kit/language.ts';
import { offerFile } from '../kit/offer-file.ts';
import { FormAnswer, type Answer } from './form-answer.tsx';

/** How the last line of a whole export begins. */
const LAST_LINE = '{"end":';
/** Where the last line stands: it holds four counts. */
const LAST_LINE_BYTES = 1_024;

export function OwnDataSection() {
  const { t } = useTranslation();
  const { client, me } = useChat();
  const [isUnderWay, setUnderWay] = useState(false);
  const [answer, setAnswer] = useState<Answer>();
  const leaving = useRef(new AbortController());
  useEffect(() => {
    const controller = new AbortController();
    leaving.current = controller;
    return () => controller.abort();
  }, []);
  const save = async () => {
    setUnderWay(true);
    setAnswer(undefined);
    const { signal } = leaving.current;
    try {
      const lines = await new Response(await client.account.exportOwnData({ signal })).blob();
      // One that broke off has no last line, and nobody should take it for all there is.
      const end = await lines.slice(-LAST_LINE_BYTES).text();
      const isWhole = end.trimEnd().split('\n').at(-1)?.startsWith(LAST_LINE) === true;
      if (isWhole) offerFile(lines, `parley-${me}-${new Date().toISOString().slice(0, 10)}.ndjson`);
      setAnswer({ text: t(isWhole ? 'ownData.saved' : 'ownData.brokeOff'), isDone: isWhole });
    } catch (thrown) {
      if (!signal.aborted) setAnswer({ text: sentenceOf(thrown), isDone: false });
    } finally {
      setUnderWay(false);
    }
  };
  return (
    <Stack gap="sm" align="start">
      <Text size="sm">{t('ownData.why')}</Text>
      <Button variant="default" leftSection={<Download size={16} />} loading={isUnderWay} onClick={() => void save()}>
        {t('ownData.save')}
      </Button>
      <FormAnswer answer={answer} />
    </Stack>
  );
}
