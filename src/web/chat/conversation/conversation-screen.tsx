/** One conversation: its messages, the field to write in, and beside them its people or a thread. */
import { Alert, Button, Center, CloseButton, Loader } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { CircleAlert } from 'lucide-react';
import { lazy, memo, Suspense, useEffect, useMemo, useRef, useState, type RefObject } from 'react';
import { useTranslation } from 'react-i18next';
import type { ChatConversation, ChatMessage } from '#src/client/conversations/records.ts';
import { breakpoint } from '../../kit/breakpoint.ts';
import { EmptyState } from '../../kit/empty-state.tsx';
import { sentenceOf } from '../../kit/language.ts';
import { useObserved } from '../../kit/observable.ts';
import { useChat } from '../chat-context.ts';
import { Composer } from '../composer/composer.tsx';
import { FileDrop } from '../composer/file-drop.tsx';
import { UploadList } from '../composer/upload-list.tsx';
import { useTitle } from '../conversation-words.ts';
import { Pins } from '../state/pins.ts';
import type { Timeline } from '../state/timeline.ts';
import { ConversationHead, type Beside } from './conversation-head.tsx';
import { MessageList, type MessageListHandle } from './message-list.tsx';
import {
  FRESHEN_MILLIS,
  OpenConversationContext,
  RightsContext,
  useRights,
  useSteadyRecord,
  type Aim,
  type OpenConversation,
} from './open-conversation.ts';
import { SidePanel } from './side-panel.tsx';
import { TypingLine } from './typing-line.tsx';
import { useSpokenMessages } from './spoken-messages.ts';

const ForwardDialog = lazy(async () => ({ default: (await import('../forward/forward-dialog.tsx')).ForwardDialog }));

const PictureViewer = lazy(async () => ({ default: (await import('../media/picture-viewer.tsx')).PictureViewer }));

export interface ConversationScreenProps {
  readonly conv: string;
  /** The message that somebody comes to see; undefined for the newest, or the first unread one. */
  readonly at: number | undefined;
}

export function ConversationScreen({ conv, at }: ConversationScreenProps) {
  const { t } = useTranslation();
  const { client, inbox, rooms } = useChat();
  const [timeline] = useState(() => rooms.take(conv, at));
  const [pins] = useState(() => new Pins(client, conv));
  const [failure, setFailure] = useState<unknown>();
  const generation = useObserved(timeline, () => timeline.state.generation);
  const conversation = useSteadyRecord(useObserved(inbox, () => inbox.rowOf(conv)?.conversation));
  const open = () => {
    setFailure(undefined);
    timeline.open(at).then(() => openedNow(client, inbox, conv), setFailure);
  };
  useEffect(() => {
    // One that was kept has begun already: it is shown before it is asked what is new of it, and of one that is passed over nothing is.
    const freshen = () => {
      timeline.refresh();
      openedNow(client, inbox, conv);
      pins.open();
    };
    const timer = timeline.state.generation === 0 ? undefined : setTimeout(freshen, FRESHEN_MILLIS);
    if (timer === undefined) {
      open();
      pins.open();
    }
    return () => {
      clearTimeout(timer);
      rooms.leave(timeline);
      pins.close();
    };
    // The screen is made anew for another conversation.
  }, [timeline]);
  // What could not be read without a network comes by itself once there is one.
  useEffect(() => (failure === undefined ? undefined : client.on('caught-up', open)), [client, failure]);
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
  if (conversation === undefined || generation === 0) {
    return (
      <Center h="100%">
        <Loader aria-label={t('app.loading')} role="status" />
      </Center>
    );
  }
  return <Opened conversation={conversation} timeline={timeline} pins={pins} at={at} />;
}

/** A conversation that somebody goes to is shown in the list again. */
function openedNow(
  client: ReturnType<typeof useChat>['client'],
  inbox: ReturnType<typeof useChat>['inbox'],
  conv: string,
): void {
  if (client.conversations.get(conv)?.isHidden === true) client.hide(conv, false).catch(() => undefined);
  inbox.opened(conv);
}

interface OpenedProps {
  readonly conversation: ChatConversation;
  readonly timeline: Timeline;
  readonly pins: Pins;
  readonly at: number | undefined;
}

/** Drawn anew where the record says something else, and not with each message that comes. */
const Opened = memo(function Opened({ conversation, timeline, pins, at }: OpenedProps) {
  const { t } = useTranslation();
  const title = useTitle(conversation, t);
  const may = useRights(conversation.id);
  const list = useRef<MessageListHandle>(null);
  useJumping(list, at);
  const [aim, setAim] = useState<Aim>();
  const [beside, setBeside] = useState<Beside>();
  const [forwarded, setForwarded] = useState<ChatMessage>();
  const [picture, setPicture] = useState<ChatMessage>();
  const [complaint, setComplaint] = useState<unknown>();
  useSpokenMessages(conversation);
  const open = useMemo((): OpenConversation => {
    const jumpTo = (seq: number | undefined) => {
      // What stands beside the messages stands over them here.
      if (breakpoint.now === 'narrow' || breakpoint.now === 'medium') setBeside(undefined);
      if (seq === undefined) list.current?.toNewest();
      else list.current?.jumpTo(seq);
    };
    return {
      conv: conversation.id,
      conversation,
      timeline,
      pins,
      jumpTo,
      aimAt: setAim,
      forward: setForwarded,
      openThread: (root) => setBeside({ kind: 'thread', root }),
      showPicture: setPicture,
      complain: setComplaint,
    };
  }, [conversation, timeline, pins]);
  return (
    <OpenConversationContext value={open}>
      <RightsContext value={may}>
        <FileDrop conv={conversation.id} isTaking={may('message.post')}>
          <section className="parley-conversation" aria-label={title}>
            <ConversationHead title={title} beside={beside} onBeside={setBeside} />
            {complaint !== undefined && <Complaint thrown={complaint} onClose={() => setComplaint(undefined)} />}
            <MessageList ref={list} target={at} />
            <TypingLine />
            <UploadList conv={conversation.id} />
            <Composer title={title} aim={aim} onSent={() => list.current?.toNewest()} />
          </section>
          <SidePanel beside={beside} onClose={() => setBeside(undefined)} />
        </FileDrop>
        <Suspense>
          {forwarded !== undefined && <ForwardDialog message={forwarded} onClose={() => setForwarded(undefined)} />}
          {picture !== undefined && <PictureViewer message={picture} onClose={() => setPicture(undefined)} />}
        </Suspense>
      </RightsContext>
    </OpenConversationContext>
  );
});

/** Goes to another message that the address names while the conversation is open; the list begins at the first one by itself. */
function useJumping(list: RefObject<MessageListHandle | null>, at: number | undefined): void {
  const shown = useRef(at);
  useEffect(() => {
    if (at !== undefined && at !== shown.current) list.current?.jumpTo(at);
    shown.current = at;
  }, [at, list]);
}

function Complaint({ thrown, onClose }: { readonly thrown: unknown; readonly onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Alert color="red" role="alert" radius={0} p="xs">
      {sentenceOf(thrown)} <CloseButton size="sm" aria-label={t('app.close')} onClick={onClose} display="inline-flex" />
    </Alert>
  );
}
