/** One person of a call: their picture where it comes, their face where not, and what they say of their microphone. */
import { Text } from '@mantine/core';
import { MicOff, ScreenShare } from 'lucide-react';
import { useEffect, useMemo, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { CallParticipant } from '#src/client/calling/call.ts';
import type { PeerMetrics } from '#src/client/calling/peer-statistics.ts';
import { useChat } from '../chat/chat-context.ts';
import { UserAvatar } from '../chat/people/conversation-avatar.tsx';
import { useName } from '../chat/state/people.ts';
import type { Words } from '../kit/language.ts';
import { percentOf, rateOf } from './call-words.ts';

/** From this loudness on, of 0 to 1, somebody speaks. */
const SPEAKING_LEVEL = 0.03;

/** Plays a track in an element; the element is silent but for sounds of others. */
export function useTrack(track: MediaStreamTrack | undefined) {
  const element = useRef<HTMLVideoElement & HTMLAudioElement>(null);
  const stream = useMemo(() => (track === undefined ? null : new MediaStream([track])), [track]);
  useEffect(() => {
    if (element.current === null) return;
    element.current.srcObject = stream;
    // The browser may ask for a touch first, and the person has touched a button to be here.
    if (stream !== null) element.current.play().catch(() => undefined);
  }, [stream]);
  return element;
}

export interface CallTileProps {
  readonly participant: CallParticipant;
  readonly metrics: PeerMetrics | undefined;
}

export function CallTile({ participant, metrics }: CallTileProps) {
  const { t } = useTranslation();
  const { people } = useChat();
  const { audio, media, state, user, video } = participant;
  const name = useName(people, user);
  const hasPicture = media.video || media.screen;
  const sound = useTrack(audio);
  const picture = useTrack(video);
  const isSpeaking = media.audio && (metrics?.audioLevel ?? 0) > SPEAKING_LEVEL;
  return (
    <div
      className="parley-tile"
      role="group"
      aria-label={name}
      data-state={state}
      data-speaking={isSpeaking || undefined}
      title={metrics === undefined ? undefined : qualityOf(metrics, t)}
    >
      <audio ref={sound} />
      <video ref={picture} muted playsInline hidden={!hasPicture} data-fit={media.screen ? 'whole' : undefined} />
      {!hasPicture && <UserAvatar user={user} name={name} size={96} hasPresence={false} />}
      <div className="parley-tile-name">
        {!media.audio && <MicOff size={16} role="img" aria-label={t('call.muted', { name })} />}
        {media.screen && <ScreenShare size={16} role="img" aria-label={t('call.shares', { name })} />}
        <bdi>{name}</bdi>
      </div>
      {state !== 'connected' && (
        <Text className="parley-tile-state" size="sm" role="status">
          {t(state === 'connecting' ? 'call.connecting' : 'call.reconnecting')}
        </Text>
      )}
    </div>
  );
}

function qualityOf({ bitsReceived, loss, roundTrip }: PeerMetrics, t: Words): string {
  const words = { rate: rateOf(bitsReceived), loss: percentOf(loss) };
  if (roundTrip === undefined) return t('call.quality', words);
  return t('call.roundTrip', { ...words, roundTrip: Math.round(roundTrip) });
}
