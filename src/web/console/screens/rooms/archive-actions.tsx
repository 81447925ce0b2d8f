/** Several rooms are archived or brought back at once; what is no room is left alone, and refusals are told by name. */
import { t } from '../../words/words.ts';
import { Work } from '../../kit/work.tsx';
import type { ItemOf } from '../../session/console-api.ts';
import { useScreenContext } from '../../screen-context.ts';

type Conversation = ItemOf<'get /conversations'>;

export interface ArchiveActionsProps {
  readonly rooms: readonly Conversation[];
  readonly done: () => void;
}

export function ArchiveActions({ done, rooms }: ArchiveActionsProps) {
  const context = useScreenContext();
  const change = async (archived: boolean) => {
    const changed = rooms.filter(({ archived_at: at, kind }) => kind === 'room' && (at !== undefined) !== archived);
    for (const { id } of changed) {
      await context.call('put /conversations/:id/archived', { parameters: { id }, body: { archived } });
    }
  };
  return (
    <>
      <Work
        label="conversations.archive"
        size="xs"
        ask={t('bulk.archive-asked', { count: rooms.length })}
        work={async () => await change(true)}
        done={done}
      />
      <Work label="conversations.bring-back" size="xs" work={async () => await change(false)} done={done} />
    </>
  );
}
