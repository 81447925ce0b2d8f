/** A picture over the whole page, and the ways to the others of the conversation that are at hand. */
import { ActionIcon, CloseButton, Group, Modal, Text } from '@mantine/core';
import { ChevronLeft, ChevronRight, Download } from 'lucide-react';
import { useState, type KeyboardEvent, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { ChatMessage } from '#src/client/conversations/records.ts';
import { harmlessName } from '../../kit/harmless-text.ts';
import { useObserved } from '../../kit/observable.ts';
import { useChat } from '../chat-context.ts';
import { fileOf, isPicture, momentOf, type FileBody } from '../conversation-words.ts';
import { useOpenConversation } from '../conversation/open-conversation.ts';
import { useName } from '../state/people.ts';
import { useDownload } from './download.ts';
import { useThumbnail, useWholePicture } from './held-picture.ts';

export interface PictureViewerProps {
  readonly message: ChatMessage;
  readonly onClose: () => void;
}

export function PictureViewer({ message, onClose }: PictureViewerProps) {
  const { t } = useTranslation();
  const { timeline } = useOpenConversation();
  const [seq, setSeq] = useState(message.seq);
  const messages = useObserved(timeline, () => timeline.state.messages);
  const pictures = messages.filter((one) => one.deletedAt === undefined && isPicture(fileOf(one)));
  const at = pictures.findIndex((one) => one.seq === seq);
  const shown = pictures[at] ?? message;
  const file = fileOf(shown);
  const step = (by: number) => {
    const next = at < 0 ? undefined : pictures[at + by];
    if (next !== undefined) setSeq(next.seq);
  };
  const press = ({ key }: KeyboardEvent) => {
    if (key === 'ArrowLeft') step(-1);
    if (key === 'ArrowRight') step(1);
  };
  if (file === undefined) return null;
  return (
    <Modal.Root opened onClose={onClose} fullScreen onKeyDown={press}>
      <Modal.Content aria-label={t('picture.title')}>
        <Modal.Body className="parley-viewer">
          <Head message={shown} file={file} onClose={onClose} />
          <Group wrap="nowrap" gap="xs" className="parley-viewer-place">
            <Step label={t('picture.before')} isThere={at > 0} onClick={() => step(-1)}>
              <ChevronLeft size={24} />
            </Step>
            <Whole key={file.attachment} conv={shown.conversation_id} file={file} />
            <Step label={t('picture.after')} isThere={at >= 0 && at < pictures.length - 1} onClick={() => step(1)}>
              <ChevronRight size={24} />
            </Step>
          </Group>
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}

interface HeadProps {
  readonly message: ChatMessage;
  readonly file: FileBody;
  readonly onClose: () => void;
}

function Head({ message, file, onClose }: HeadProps) {
  const { t } = useTranslation();
  const { people } = useChat();
  const sender = useName(people, message.sender);
  const name = harmlessName(file.name, 'file');
  const download = useDownload({ conv: message.conversation_id, file });
  const label = t('file.download', { name });
  return (
    <Group wrap="nowrap" gap="xs">
      <div className="parley-person-words">
        <Text fw={600} truncate>
          <bdi>{name}</bdi>
        </Text>
        <Text size="xs" c="dimmed" truncate>
          <bdi>{sender}</bdi> · {momentOf(message.createdAt)}
        </Text>
      </div>
      <ActionIcon variant="subtle" color="gray" size="lg" aria-label={label} title={label} onClick={download}>
        <Download size={20} />
      </ActionIcon>
      <CloseButton size="lg" aria-label={t('app.close')} onClick={onClose} data-autofocus />
    </Group>
  );
}

interface StepProps {
  readonly label: string;
  readonly isThere: boolean;
  readonly onClick: () => void;
  readonly children: ReactNode;
}

function Step({ label, isThere, onClick, children }: StepProps) {
  return (
    <ActionIcon variant="subtle" color="gray" size="lg" aria-label={label} disabled={!isThere} onClick={onClick}>
      {children}
    </ActionIcon>
  );
}

/** The thumbnail until the picture itself is there, in the same place. */
function Whole({ conv, file }: { readonly conv: string; readonly file: FileBody }) {
  const small = useThumbnail(file.attachment, conv, 1024);
  const whole = useWholePicture({ conv, file });
  const url = whole.url ?? small.url;
  return (
    <div className="parley-viewer-picture">
      {url !== undefined && <img src={url} alt={file.alt ?? harmlessName(file.name)} />}
    </div>
  );
}
