/** What a place shows that has nothing to show: what would be here, and what to do. */
import { Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

export interface EmptyStateProps {
  readonly icon: ReactNode;
  readonly title: string;
  readonly children?: ReactNode;
}

export function EmptyState({ icon, title, children }: EmptyStateProps) {
  return (
    <Stack align="center" justify="center" gap="sm" p="xl" h="100%" ta="center">
      <Text c="dimmed" span aria-hidden="true">
        {icon}
      </Text>
      <Title order={1} size="h4">
        {title}
      </Title>
      {children}
    </Stack>
  );
}
