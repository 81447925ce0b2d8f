/** What can be done with a message: shown when it is pointed at, by a tap too, or has the keyboard's focus. */
import { ActionIcon, Tooltip } from '@mantine/core';
import { MessageSquareReply, MessageSquareText, Pencil, SmilePlus, Trash2 } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { ChatMessage } from '#src/client/conversations/records.ts';
import { useChat } from '../chat-context.ts';
import { EmojiButton } from '../emoji/emoji-button.tsx';
import { useMay, useOpenConversation } from '../conversation/open-conversation.ts';
import { MessageMenu } from './message-menu.tsx';

export interface MessageActionsProps {
  readonly message: ChatMessage;
  readonly isInThread: boolean;
  /** Whether somebody points at the message, or has the focus on it. */
  readonly isPointed: boolean;
  readonly label: string;
}

/** The menu by itself until somebody comes near: what else can be done is made then, before it, and the focus stays where it is. */
export function MessageActions({ message, isInThread, isPointed, label }: MessageActionsProps) {
  return (
    <div className="parley-actions">
      {isPointed && <FrequentActions message={message} isInThread={isInThread} />}
      <MessageMenu message={message} label={label} />
    </div>
  );
}

function FrequentActions({ message, isInThread }: Pick<MessageActionsProps, 'message' | 'isInThread'>) {
  const { t } = useTranslation();
  const { client, deletions, me } = useChat();
  const { aimAt, complain, conv, openThread } = useOpenConversation();
  const may = useMay();
  const isOwn = message.sender === me;
  const mayDelete = may('message.delete.any') || (isOwn && may('message.delete.own'));
  const mayEdit = isOwn && message.kind === 'text' && message.forward === undefined && may('message.edit.own');
  const react = (emoji: string) => void client.react(conv, message.seq, emoji).catch(complain);
  return (
    <>
      {may('reaction.add') && (
        <EmojiButton label={t('message.react')} onPick={react} hasCustom>
          <SmilePlus size={16} />
        </EmojiButton>
      )}
      {may('message.post') && !isInThread && (
        <Action label={t('message.reply')} onClick={() => aimAt({ kind: 'reply', message })}>
          <MessageSquareReply size={16} />
        </Action>
      )}
      {!isInThread && (
        <Action label={t('thread.open')} onClick={() => openThread(message.root_seq ?? message.seq)}>
          <MessageSquareText size={16} />
        </Action>
      )}
      {mayEdit && !isInThread && (
        <Action label={t('message.edit')} onClick={() => aimAt({ kind: 'edit', message })}>
          <Pencil size={16} />
        </Action>
      )}
      {mayDelete && (
        <Action label={t('message.delete')} onClick={() => deletions.delete({ conv, seq: message.seq }, complain)}>
          <Trash2 size={16} />
        </Action>
      )}
    </>
  );
}

interface ActionProps {
  readonly label: string;
  readonly onClick: () => void;
  readonly children: ReactNode;
}

function Action({ label, onClick, children }: ActionProps) {
  return (
    <Tooltip label={label} openDelay={400} events={{ hover: true, focus: false, touch: false }}>
      <ActionIcon variant="subtle" color="gray" aria-label={label} onClick={onClick}>
        {children}
      </ActionIcon>
    </Tooltip>
  );
}
