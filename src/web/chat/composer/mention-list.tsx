/** Over the field while a mention is written: who may be meant. */
import { Text, UnstyledButton } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { UserAvatar } from '../people/conversation-avatar.tsx';
import type { Candidate, MentionChoice } from './composing.ts';

export interface MentionListProps {
  readonly mentions: MentionChoice;
  readonly onPick: (candidate: Candidate) => void;
}

export function MentionList({ mentions: { id, candidates, at }, onPick }: MentionListProps) {
  const { t } = useTranslation();
  if (candidates.length === 0) return null;
  return (
    <div id={id} className="parley-mentions" role="listbox" aria-label={t('composer.mentions')}>
      {candidates.map((candidate, index) => (
        <UnstyledButton
          key={candidate.user}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === at}
          className="parley-option"
          // The field keeps the focus, and with it the place of the caret.
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onPick(candidate)}
        >
          <UserAvatar user={candidate.user} name={candidate.name} size={24} />
          <Text size="sm" truncate>
            <bdi>{candidate.name}</bdi>
          </Text>
          <Text size="xs" c="dimmed" truncate>
            @{candidate.user}
          </Text>
        </UnstyledButton>
      ))}
    </div>
  );
}
