/** The frame of what stands before the console: signing in, setting up a second factor, a server that does not answer. */
import { Alert, Paper, Title } from '@mantine/core';
import { useEffect, useRef, type ReactNode } from 'react';
import { Logo } from '../../kit/logo.tsx';
import type { Reason } from '../session/console-session.ts';
import { sentenceOf, t, type Key } from '../words/words.ts';
import { LanguageSelect } from '../shell/language-select.tsx';

export interface GateProps {
  readonly title: Key;
  readonly said?: Reason | undefined;
  readonly children: ReactNode;
}

export function Gate({ children, said, title }: GateProps) {
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    document.title = `${t(title)} · ${t('shell.title')}`;
    const first = place.current?.querySelector('input') ?? place.current?.querySelector('h1');
    first?.focus();
  }, [title]);
  return (
    <main className="gate" ref={place}>
      <Paper withBorder shadow="sm" p="xl" radius="lg" className="gate-card">
        <div className="gate-brand">
          <Logo size={36} />
          <span>{t('shell.title')}</span>
        </div>
        <Title order={1} size="h3" tabIndex={-1}>
          {t(title)}
        </Title>
        {said === undefined ? null : (
          <Alert role="status" variant="light" color="blue">
            {'said' in said ? t(said.said) : sentenceOf(said.failed)}
          </Alert>
        )}
        {children}
        <LanguageSelect />
      </Paper>
    </main>
  );
}
