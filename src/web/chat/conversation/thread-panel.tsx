/** A thread beside the conversation: the message that it began with, what was answered, and a field of its own. */
import { Button, Center, Divider, Loader, Stack, Text } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ChatMessage } from '#src/client/conversations/records.ts';
import { readMessage } from '#src/client/conversations/records.ts';
import type { Words } from '../../kit/language.ts';
import { useObserved } from '../../kit/observable.ts';
import { useChat } from '../chat-context.ts';
import { Composer } from '../composer/composer.tsx';
import { MessageRow } from '../message/message-row.tsx';
import { SendingRow } from '../message/sending-row.tsx';
import { useOpenConversation } from './open-conversation.ts';

interface Thread {
  readonly root: ChatMessage | undefined;
  readonly replies: readonly ChatMessage[];
  readonly next: number | null;
}

/** Kept up to date by reading what changed of it again: threads are short, and their events name single messages. */
function useThread(root: number): Thread & { readonly more: () => void } {
  const { client } = useChat();
  const { complain, conv } = useOpenConversation();
  const [thread, setThread] = useState<Thread>({ root: undefined, replies: [], next: null });
  useEffect(() => {
    let isOver = false;
    const readFirst = async () => {
      const [wire, page] = await Promise.all([
        client.call('readMessage', { params: { id: conv, seq: root } }),
        client.reading.replies(conv, root),
      ]);
      if (!isOver) setThread({ root: readMessage(wire), replies: page.items, next: page.next });
    };
    const take = (message: ChatMessage) => setThread((before) => withMessage(before, message, root));
    const off = (['message.new', 'message.edit', 'message.delete'] as const).map((type) =>
      client.on(type, (event) => event.conv === conv && take(event.data)),
    );
    off.push(client.on('reaction', (event) => event.conv === conv && void readFirst().catch(complain)));
    readFirst().catch(complain);
    return () => {
      isOver = true;
      for (const end of off) end();
    };
    // The open conversation stays; what it offers is made anew with each drawing.
  }, [client, conv, root]);
  const more = async () => {
    const page = await client.reading.replies(conv, root, { afterSeq: thread.next ?? 0 });
    setThread((before) => ({ ...before, replies: [...before.replies, ...page.items], next: page.next }));
  };
  return { ...thread, more: () => void more().catch(complain) };
}

function withMessage(thread: Thread, message: ChatMessage, root: number): Thread {
  if (message.seq === root) return { ...thread, root: message };
  const at = thread.replies.findIndex(({ seq }) => seq === message.seq);
  if (at >= 0) return { ...thread, replies: thread.replies.with(at, message) };
  const isNext =
    message.root_seq === root && thread.next === null && message.seq > (thread.replies.at(-1)?.seq ?? root);
  return isNext ? { ...thread, replies: [...thread.replies, message] } : thread;
}

export function ThreadPanel({ root }: { readonly root: number }) {
  const { t } = useTranslation();
  const { sending } = useChat();
  const { conv } = useOpenConversation();
  const thread = useThread(root);
  const outgoing = useObserved(sending, () => sending.in(conv));
  const end = useRef<HTMLDivElement>(null);
  const count = thread.replies.length;
  useEffect(() => {
    // Newer browsers answer with a promise, which is not what an effect may answer with.
    end.current?.scrollIntoView({ block: 'end' });
  }, [count, outgoing.length]);
  if (thread.root === undefined) {
    return (
      <Center flex={1}>
        <Loader role="img" aria-label={t('app.loading')} />
      </Center>
    );
  }
  const waiting = outgoing.filter(({ form }) => form.reply_to === root);
  return (
    <>
      <Stack gap={0} className="parley-beside-body" role="log" aria-label={t('thread.title')} tabIndex={0}>
        <ThreadMessage message={thread.root} t={t} />
        <Divider my="xs" label={<Text size="xs">{t('thread.replies', { count })}</Text>} />
        {thread.replies.map((message) => (
          <ThreadMessage key={message.seq} message={message} t={t} />
        ))}
        {thread.next !== null && (
          <Button variant="default" size="compact-sm" onClick={thread.more}>
            {t('browse.more')}
          </Button>
        )}
        {waiting.map((one) => (
          <SendingRow key={one.clientMsgId} sending={one} />
        ))}
        <div ref={end} />
      </Stack>
      <Composer title={t('thread.title')} aim={undefined} root={root} onSent={() => undefined} />
    </>
  );
}

function ThreadMessage({ message, t }: { readonly message: ChatMessage; readonly t: Words }) {
  return (
    <MessageRow
      message={message}
      t={t}
      day={undefined}
      isUnreadFirst={false}
      isJoined={false}
      isTarget={false}
      isInThread
    />
  );
}
