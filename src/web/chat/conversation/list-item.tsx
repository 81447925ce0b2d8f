/** What stands in the list of messages: one that was said, or one on its way. */
import { Text } from '@mantine/core';
import { memo } from 'react';
import { useTranslation } from 'react-i18next';
import type { ChatMessage } from '#src/client/conversations/records.ts';
import type { Words } from '../../kit/language.ts';
import { MessageRow } from '../message/message-row.tsx';
import { SendingRow } from '../message/sending-row.tsx';
import type { Sending } from '../state/sending.ts';

/** Messages of one person within so long stand under one name. */
const GROUP_MILLIS = 5 * 60_000;

export type Item =
  | { readonly kind: 'message'; readonly message: ChatMessage; readonly before: ChatMessage | undefined }
  | { readonly kind: 'sending'; readonly sending: Sending; readonly message?: undefined };

export interface ListItemProps {
  readonly item: Item;
  readonly isFromStart: boolean;
  readonly unreadFrom: number | undefined;
  readonly target: number | undefined;
  readonly t: Words;
}

/** Items are made anew with each change; what is drawn of one depends on its message and the one before it. */
function drawsTheSame({ item, ...rest }: ListItemProps, { item: other, ...others }: ListItemProps): boolean {
  const isSame =
    item.kind === 'message'
      ? other.kind === 'message' && item.message === other.message && item.before === other.before
      : other.kind === 'sending' && item.sending === other.sending;
  return (
    isSame &&
    rest.isFromStart === others.isFromStart &&
    rest.unreadFrom === others.unreadFrom &&
    rest.target === others.target &&
    rest.t === others.t
  );
}

export const ListItem = memo(function ListItem({ item, isFromStart, t, target, unreadFrom }: ListItemProps) {
  if (item.kind === 'sending') return <SendingRow sending={item.sending} />;
  const { before, message } = item;
  const isUnreadFirst = message.seq === unreadFrom;
  // What stands before the first one is not known yet: it is drawn as if it went on, so that it stays where it is then.
  const isCut = before === undefined && !isFromStart;
  const isNewDay = !isCut && (before === undefined || !isSameDay(before, message));
  const isJoined = !isNewDay && !isUnreadFirst && (isCut || (before !== undefined && goesOn(before, message)));
  return (
    <>
      {before === undefined && isFromStart && <Beginning />}
      <MessageRow
        message={message}
        day={isNewDay ? message.createdAt : undefined}
        isUnreadFirst={isUnreadFirst}
        isJoined={isJoined}
        isTarget={message.seq === target}
        t={t}
      />
    </>
  );
}, drawsTheSame);

function isSameDay(one: ChatMessage, other: ChatMessage): boolean {
  return new Date(one.createdAt).toDateString() === new Date(other.createdAt).toDateString();
}

/** Whether a message stands under the name of the one before it. */
function goesOn(before: ChatMessage, { createdAt, sender }: ChatMessage): boolean {
  return before.sender === sender && before.deletedAt === undefined && createdAt - before.createdAt < GROUP_MILLIS;
}

/** Right above the first message: a short conversation stands at the bottom, and what is above it is far away. */
function Beginning() {
  const { t } = useTranslation();
  return (
    <Text size="sm" c="dimmed" ta="center" pb="xs">
      {t('message.beginning')}
    </Text>
  );
}
