/** A sound or a film: nothing of it comes before somebody plays it, and then piece by piece from the messaging service. */
import { Text, UnstyledButton } from '@mantine/core';
import { Play } from 'lucide-react';
import { useRef, useState, type ReactNode, type SyntheticEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { harmlessName } from '../../kit/harmless-text.ts';
import { useChat } from '../chat-context.ts';
import { sizeOf } from '../conversation-words.ts';
import { useOpenConversation } from '../conversation/open-conversation.ts';
import { MESSAGING, type PlacedFile } from './download.ts';

export interface MediaPlayerProps extends PlacedFile {
  /** What stands here where the browser cannot play it. */
  readonly instead: ReactNode;
}

export function MediaPlayer({ conv, file, instead }: MediaPlayerProps) {
  const { t } = useTranslation();
  const { client } = useChat();
  const { complain } = useOpenConversation();
  const [address, setAddress] = useState<string>();
  const [isBroken, setBroken] = useState(false);
  /** Where it stopped: links are good for minutes, and a long film outlasts them. */
  const stopped = useRef(0);
  const name = harmlessName(file.name, 'file');
  const play = () => {
    const follow = ({ path }: { path: string }) => setAddress(`${MESSAGING}${path}`);
    client.attachments.link(file.attachment, conv).then(follow, complain);
  };
  const fail = ({ currentTarget: { currentTime } }: SyntheticEvent<HTMLMediaElement>) => {
    // What never began cannot be played; what went on since the last link gets another one.
    if (currentTime <= stopped.current) return setBroken(true);
    stopped.current = currentTime;
    play();
  };
  const begin = ({ currentTarget }: SyntheticEvent<HTMLMediaElement>) => {
    if (stopped.current > 0) currentTarget.currentTime = stopped.current;
  };
  if (isBroken) return instead;
  const isFilm = file.type.startsWith('video/');
  if (address === undefined) {
    return (
      <UnstyledButton className={isFilm ? 'parley-film' : 'parley-file'} onClick={play}>
        <span className="parley-unseen">{t('file.play', { name })}</span>
        <Play size={isFilm ? 40 : 28} strokeWidth={1.5} aria-hidden="true" />
        <div className="parley-person-words" aria-hidden="true">
          <Text size="sm" fw={500} truncate>
            <bdi>{name}</bdi>
          </Text>
          <Text size="xs">{sizeOf(file.size)}</Text>
        </div>
      </UnstyledButton>
    );
  }
  const common = {
    src: address,
    controls: true,
    autoPlay: true,
    // The two services are two origins: the messaging service allows this one to read.
    crossOrigin: 'anonymous' as const,
    onError: fail,
    onLoadedMetadata: begin,
    'aria-label': name,
  };
  return isFilm ? <video className="parley-film" {...common} /> : <audio className="parley-sound" {...common} />;
}
