/** Of a series: this one, this one and those behind it, or all of it. */
import { Button, Group, Modal, Radio, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Scope } from './entry-form.ts';

export interface ScopeQuestionProps {
  readonly title: string;
  readonly scopes: readonly Scope[];
  /** Whether the times of a series change by it, which makes all of it begin afresh. */
  readonly isMove?: boolean;
  readonly onAnswer: (scope: Scope | undefined) => void;
}

export function ScopeQuestion({ isMove = false, onAnswer, scopes, title }: ScopeQuestionProps) {
  const { t } = useTranslation('calendar');
  const [scope, setScope] = useState<Scope>(scopes[0] ?? 'all');
  return (
    <Modal
      opened
      onClose={() => onAnswer(undefined)}
      title={title}
      size="sm"
      centered
      closeButtonProps={{ 'aria-label': t('close') }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onAnswer(scope);
        }}
      >
        <Radio.Group value={scope} onChange={(next) => setScope(next)} aria-label={title}>
          <Stack gap="sm">
            {scopes.map((one, at) => (
              <Radio
                key={one}
                value={one}
                label={t(`scope.${one}`)}
                {...(at === 0 ? { 'data-autofocus': true } : {})}
              />
            ))}
          </Stack>
        </Radio.Group>
        {isMove && scope !== 'this' && (
          <Text size="sm" c="dimmed" mt="sm">
            {t('scope.allLoses')}
          </Text>
        )}
        <Group justify="flex-end" mt="lg">
          <Button variant="default" onClick={() => onAnswer(undefined)}>
            {t('cancel')}
          </Button>
          <Button type="submit">{t('scope.go')}</Button>
        </Group>
      </form>
    </Modal>
  );
}
