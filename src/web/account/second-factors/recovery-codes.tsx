/** Recovery codes, which are shown once: to be copied or kept as a file before one goes on. */
import { Button, Code, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { offerFile } from '../../kit/offer-file.ts';

export interface RecoveryCodesProps {
  readonly codes: readonly string[];
  readonly onKept: () => void;
}

export function RecoveryCodes({ codes, onKept }: RecoveryCodesProps) {
  const { t } = useTranslation();
  const [isCopied, setCopied] = useState(false);
  const text = `${codes.join('\n')}\n`;
  const copy = () => {
    // Where the clipboard is closed, the codes are still there to be read.
    navigator.clipboard?.writeText(text).then(
      () => setCopied(true),
      () => undefined,
    );
  };
  const save = () => offerFile(new Blob([text], { type: 'text/plain' }), 'parley-recovery-codes.txt');
  return (
    <div role="group" aria-label={t('factor.codes')}>
      <Stack gap="sm">
        <Text fw={650}>{t('factor.codes')}</Text>
        <Text size="sm">{t('factor.codesWhy')}</Text>
        <SimpleGrid cols={2} spacing="xs" verticalSpacing="xs">
          {codes.map((code) => (
            <Code key={code} fz="sm" translate="no">
              {code}
            </Code>
          ))}
        </SimpleGrid>
        <Group gap="xs">
          <Button variant="default" onClick={copy}>
            {t(isCopied ? 'factor.copied' : 'factor.copy')}
          </Button>
          <Button variant="default" onClick={save}>
            {t('factor.save')}
          </Button>
          <Button onClick={onKept}>{t('factor.kept')}</Button>
        </Group>
      </Stack>
    </div>
  );
}
