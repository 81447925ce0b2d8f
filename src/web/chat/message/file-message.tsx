/** A file of a message: a picture in the place that its size says, or a card with its name; a press gets the whole of it. */
import { Group, Text, UnstyledButton } from '@mantine/core';
import { Download, File as FileIcon } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { harmlessName } from '../../kit/harmless-text.ts';
import { useChat } from '../chat-context.ts';
import { sizeOf, type FileBody } from '../conversation-words.ts';
import { useOpenConversation } from '../conversation/open-conversation.ts';
import { FormattedText } from './formatted-text.tsx';

const WIDTH_MAX = 380;
const HEIGHT_MAX = 320;
/** The thumbnail for twice the pixels of that. */
const THUMBNAIL = 1024;
const THUMBNAIL_SMALL = 320;
/** Files up to here are held by the page on their way to the disk; what is larger goes there directly. */
const HELD_BYTES_MAX = 64 * 1024 * 1024;
/** By then the browser has taken what was handed to it. */
const RELEASE_MILLIS = 60_000;
const MESSAGING = document.documentElement.dataset['messaging'] ?? '';

export interface FileMessageProps {
  readonly conv: string;
  readonly file: FileBody;
}

export function FileMessage({ conv, file }: FileMessageProps) {
  const isPicture = file.type.startsWith('image/') && file.width !== undefined && file.height !== undefined;
  return (
    <div>
      {isPicture ? <Picture conv={conv} file={file} /> : <Card conv={conv} file={file} />}
      {file.caption !== undefined && <FormattedText text={file.caption} />}
    </div>
  );
}

/** Gets a file and puts it where the browser has downloads. */
function useDownload({ conv, file }: FileMessageProps): () => void {
  const { client } = useChat();
  const { complain } = useOpenConversation();
  return () => {
    const name = harmlessName(file.name, 'file');
    if (file.size > HELD_BYTES_MAX) {
      // Too much to hold: the browser gets it by a link, which is good for minutes and for this file alone.
      const follow = ({ path }: { path: string }) => press(`${MESSAGING}${path}`, name);
      client.attachments.link(file.attachment, conv).then(follow, complain);
      return;
    }
    const take = async () => {
      const response = await client.attachments.download(file.attachment, conv);
      const url = URL.createObjectURL(await response.blob());
      press(url, name);
      setTimeout(() => URL.revokeObjectURL(url), RELEASE_MILLIS);
    };
    take().catch(complain);
  };
}

/** A page of its own, should the browser show it: this one stays. */
function press(address: string, name: string): void {
  const anchor = document.createElement('a');
  anchor.href = address;
  anchor.download = name;
  anchor.rel = 'noopener noreferrer';
  if (!address.startsWith('blob:')) anchor.target = '_blank';
  anchor.click();
}

function Picture({ conv, file }: FileMessageProps) {
  const { t } = useTranslation();
  const { attachment, height = 1, name, width = 1 } = file;
  const scale = Math.min(1, WIDTH_MAX / width, HEIGHT_MAX / height);
  const [drawnWidth, drawnHeight] = [Math.max(48, Math.round(width * scale)), Math.max(48, Math.round(height * scale))];
  const isLarge = Math.max(drawnWidth, drawnHeight) * devicePixelRatio > THUMBNAIL_SMALL;
  const { url, isMissing } = useThumbnail(attachment, conv, isLarge ? THUMBNAIL : THUMBNAIL_SMALL);
  const download = useDownload({ conv, file });
  if (isMissing) return <Card conv={conv} file={file} />;
  const label = t('file.download', { name: harmlessName(name, 'file') });
  return (
    <UnstyledButton
      className="parley-picture"
      style={{ width: drawnWidth, height: drawnHeight }}
      onClick={download}
      aria-label={label}
      title={label}
    >
      {url !== undefined && <img src={url} alt={file.alt ?? ''} width={drawnWidth} height={drawnHeight} />}
    </UnstyledButton>
  );
}

function useThumbnail(id: string, conv: string, size: 320 | 1024): { url: string | undefined; isMissing: boolean } {
  const { client } = useChat();
  const [url, setUrl] = useState<string>();
  const [isMissing, setMissing] = useState(false);
  useEffect(() => {
    let made: string | undefined;
    let isOver = false;
    client.attachments.thumbnail(id, conv, size).then(
      (blob) => {
        if (isOver) return;
        made = URL.createObjectURL(blob);
        setUrl(made);
      },
      () => isOver || setMissing(true),
    );
    return () => {
      isOver = true;
      if (made !== undefined) URL.revokeObjectURL(made);
    };
  }, [client, conv, id, size]);
  return { url, isMissing };
}

function Card({ conv, file }: FileMessageProps) {
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
