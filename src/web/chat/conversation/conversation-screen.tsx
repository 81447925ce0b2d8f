/** One conversation: its messages, the field to write in, and beside them its people or a thread. */
import { Alert, Button, Center, CloseButton, Loader } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { CircleAlert } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ChatConversation, ChatMessage } from '#src/client/conversations/records.ts';
import { EmptyState } from '../../kit/empty-state.tsx';
import { sentenceOf } from '../../kit/language.ts';
import { useObserved } from '../../kit/observable.ts';
import { useChat } from '../chat-context.ts';
import { Composer } from '../composer/composer.tsx';
import { FileDrop } from '../composer/file-drop.tsx';
import { UploadList } from '../composer/upload-list.tsx';
import { useTitle } from '../conversation-words.ts';
import { DeleteQuestion } from '../message/delete-question.tsx';
import { Timeline } from '../state/timeline.ts';
import { ConversationHead, type Beside } from './conversation-head.tsx';
import { MessageList, type MessageListHandle } from './message-list.tsx';
import { OpenConversationContext, useRights, type Aim, type OpenConversation } from './open-conversation.ts';
import { SidePanel } from './side-panel.tsx';
import { TypingLine } from './typing-line.tsx';
import { useSpokenMessages } from './spoken-messages.ts';

export function ConversationScreen({ conv }: { readonly conv: string }) {
  const { t } = useTranslation();
  const { client, inbox } = useChat();
  const [timeline] = useState(() => new Timeline(client, conv));
  const [failure, setFailure] = useState<unknown>();
  const generation = useObserved(timeline, () => timeline.state.generation);
  const row = useObserved(inbox, () => inbox.rowOf(conv));
  const open = () => {
    setFailure(undefined);
    timeline.open().then(() => openedNow(client, inbox, conv), setFailure);
  };
  useEffect(() => {
    open();
    return () => timeline.close();
    // The screen is made anew for another conversation.
  }, [timeline]);
  if (failure !== undefined && generation === 0) {
    return (
      <EmptyState icon={<CircleAlert size={48} />} title={sentenceOf(failure)}>
        <Button onClick={open}>{t('app.retry')}</Button>
        <Button variant="subtle" component={Link} to="/">
          {t('app.toList')}
        </Button>
      </EmptyState>
    );
  }
  if (row === undefined || generation === 0) {
    return (
      <Center h="100%">
        <Loader aria-label={t('app.loading')} role="status" />
      </Center>
    );
  }
  return <Opened conversation={row.conversation} timeline={timeline} />;
}

/** A conversation that somebody goes to is shown in the list again. */
function openedNow(
  client: ReturnType<typeof useChat>['client'],
  inbox: ReturnType<typeof useChat>['inbox'],
  conv: string,
): void {
  if (client.conversations.get(conv)?.isHidden === true) client.hide(conv, false).catch(() => undefined);
  inbox.refresh();
}

interface OpenedProps {
  readonly conversation: ChatConversation;
  readonly timeline: Timeline;
}

function Opened({ conversation, timeline }: OpenedProps) {
  const { t } = useTranslation();
  const title = useTitle(conversation, t);
  const may = useRights(conversation.id);
  const list = useRef<MessageListHandle>(null);
  const [aim, setAim] = useState<Aim>();
  const [beside, setBeside] = useState<Beside>();
  const [doomed, setDoomed] = useState<ChatMessage>();
  const [complaint, setComplaint] = useState<unknown>();
  useSpokenMessages(conversation);
  const open: OpenConversation = {
    conv: conversation.id,
    conversation,
    timeline,
    may,
    aimAt: setAim,
    askToDelete: setDoomed,
    openThread: (root) => setBeside({ kind: 'thread', root }),
    jumpTo: (seq) => list.current?.jumpTo(seq),
    complain: setComplaint,
  };
  return (
    <OpenConversationContext value={open}>
      <FileDrop conv={conversation.id} isTaking={may('message.post')}>
        <section className="parley-conversation" aria-label={title}>
          <ConversationHead title={title} beside={beside} onBeside={setBeside} />
          {complaint !== undefined && <Complaint thrown={complaint} onClose={() => setComplaint(undefined)} />}
          <MessageList ref={list} />
          <TypingLine />
          <UploadList conv={conversation.id} />
          <Composer title={title} aim={aim} onSent={() => list.current?.toNewest()} />
        </section>
        <SidePanel beside={beside} onClose={() => setBeside(undefined)} />
      </FileDrop>
      <DeleteQuestion message={doomed} onClose={() => setDoomed(undefined)} />
    </OpenConversationContext>
  );
}

function Complaint({ thrown, onClose }: { readonly thrown: unknown; readonly onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Alert color="red" role="alert" radius={0} p="xs">
      {sentenceOf(thrown)} <CloseButton size="sm" aria-label={t('app.close')} onClick={onClose} display="inline-flex" />
    </Alert>
  );
}
