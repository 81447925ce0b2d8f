/** A file of a message: a picture in the place that its size says, a player, or a card with its name, by which it is got. */
import { Group, Text, UnstyledButton } from '@mantine/core';
import { Download, File as FileIcon } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { harmlessName } from '../../kit/harmless-text.ts';
import type { ChatMessage } from '#src/client/conversations/records.ts';
import { isPicture, sizeOf, type FileBody } from '../conversation-words.ts';
import { useOpenConversation } from '../conversation/open-conversation.ts';
import { useDownload, type PlacedFile } from '../media/download.ts';
import { useThumbnail } from '../media/held-picture.ts';
import { MediaPlayer } from '../media/media-player.tsx';
import { FormattedText } from './formatted-text.tsx';

const WIDTH_MAX = 380;
const HEIGHT_MAX = 320;
/** The thumbnail for twice the pixels of that. */
const THUMBNAIL = 1024;
const THUMBNAIL_SMALL = 320;
/** What a browser may play; whether it can is seen when somebody presses. */
const PLAYED = /^(?:audio|video)\//;

export interface FileMessageProps {
  readonly message: ChatMessage;
  readonly file: FileBody;
}

export function FileMessage({ message, file }: FileMessageProps) {
  const conv = message.conversation_id;
  const card = <Card conv={conv} file={file} />;
  return (
    <div>
      {isPicture(file) ? (
        <Picture message={message} file={file} />
      ) : PLAYED.test(file.type) ? (
        <MediaPlayer conv={conv} file={file} instead={card} />
      ) : (
        card
      )}
      {file.caption !== undefined && <FormattedText text={file.caption} />}
    </div>
  );
}

function Picture({ message, file }: FileMessageProps) {
  const { t } = useTranslation();
  const { showPicture } = useOpenConversation();
  const conv = message.conversation_id;
  const { attachment, height = 1, name, width = 1 } = file;
  const scale = Math.min(1, WIDTH_MAX / width, HEIGHT_MAX / height);
  const [drawnWidth, drawnHeight] = [Math.max(48, Math.round(width * scale)), Math.max(48, Math.round(height * scale))];
  const isLarge = Math.max(drawnWidth, drawnHeight) * devicePixelRatio > THUMBNAIL_SMALL;
  const { url, isMissing } = useThumbnail(attachment, conv, isLarge ? THUMBNAIL : THUMBNAIL_SMALL);
  if (isMissing) return <Card conv={conv} file={file} />;
  const label = t('picture.open', { name: harmlessName(name, 'file') });
  return (
    <UnstyledButton
      className="parley-picture"
      style={{ width: drawnWidth, height: drawnHeight }}
      onClick={() => showPicture(message)}
      aria-label={label}
      title={label}
    >
      {url !== undefined && <img src={url} alt={file.alt ?? ''} width={drawnWidth} height={drawnHeight} />}
    </UnstyledButton>
  );
}

function Card({ conv, file }: PlacedFile) {
  const { t } = useTranslation();
  const download = useDownload({ conv, file });
  const name = harmlessName(file.name, 'file');
  return (
    <UnstyledButton className="parley-file" onClick={download}>
      <span className="parley-unseen">{t('file.download', { name })}</span>
      <FileIcon size={28} strokeWidth={1.5} aria-hidden="true" />
      <div className="parley-person-words" aria-hidden="true">
        <Text size="sm" fw={500} truncate>
          <bdi>{name}</bdi>
        </Text>
        <Text size="xs" c="dimmed">
          {sizeOf(file.size)}
        </Text>
      </div>
      <Group c="dimmed">
        <Download size={18} aria-hidden="true" />
      </Group>
    </UnstyledButton>
  );
}
