/** Over the field while a mention or an emoji's name is written: who or which may be meant. */
import { Text, UnstyledButton } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { UserAvatar } from '../people/conversation-avatar.tsx';
import { CustomEmojiImage } from '../emoji/custom-emoji.tsx';
import type { Candidate, MentionChoice } from './composing.ts';

export interface MentionListProps {
  readonly mentions: MentionChoice;
  readonly onPick: (candidate: Candidate) => void;
}

export function MentionList({ mentions: { id, candidates, at }, onPick }: MentionListProps) {
  const { t } = useTranslation();
  if (candidates.length === 0) return null;
  const label = candidates[0]?.kind === 'emoji' ? 'composer.emojis' : 'composer.mentions';
  return (
    <div id={id} className="parley-mentions" role="listbox" aria-label={t(label)}>
      {candidates.map((candidate, index) => (
        <UnstyledButton
          key={candidate.kind === 'person' ? candidate.user : candidate.name}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === at}
          className="parley-option"
          // The field keeps the focus, and with it the place of the caret.
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onPick(candidate)}
        >
          <Words candidate={candidate} />
        </UnstyledButton>
      ))}
    </div>
  );
}

function Words({ candidate }: { readonly candidate: Candidate }) {
  if (candidate.kind === 'emoji') {
    return (
      <>
        <span className="parley-emoji-seen" aria-hidden="true">
          <CustomEmojiImage name={candidate.name} isNamed />
        </span>
        <Text size="sm" truncate>
          :{candidate.name}:
        </Text>
      </>
    );
  }
  return (
    <>
      <UserAvatar user={candidate.user} name={candidate.name} size={24} />
      <Text size="sm" truncate>
        <bdi>{candidate.name}</bdi>
      </Text>
      <Text size="xs" c="dimmed" truncate>
        @{candidate.user}
      </Text>
    </>
  );
}
