/** The call that this tab is in: the others, one’s own picture, and what can be done. Large over everything, or small in a corner. */
import { ActionIcon, Alert, Button, FocusTrap, Text } from '@mantine/core';
import { Maximize2, Minimize2 } from 'lucide-react';
import { useEffect, useState, type KeyboardEvent } from 'react';
import { useTranslation } from 'react-i18next';
import type { Call } from '#src/client/calling/call.ts';
import { clockOf } from '../chat/conversation-words.ts';
import { ConversationAvatar } from '../chat/people/conversation-avatar.tsx';
import { CallControls } from './call-controls.tsx';
import type { CallCenter } from './call-center.ts';
import { CallTile, useTrack } from './call-tile.tsx';
import { useCallConversation, useCallName } from './call-words.ts';

export interface CallScreenProps {
  readonly call: Call;
  readonly center: CallCenter;
}

export function CallScreen({ call, center }: CallScreenProps) {
  const { t } = useTranslation();
  const name = useCallName(call);
  const conversation = useCallConversation(call);
  const { isSmall } = center;
  const { participants, phase } = call;
  const shrink = ({ currentTarget, key }: KeyboardEvent) => {
    // The menu of devices is closed by the same key.
    const hasMenu = currentTarget.querySelector('[role="menu"]') !== null;
    if (key === 'Escape' && !isSmall && !hasMenu) center.shrink();
  };
  const dialog = isSmall ? { role: 'region' } : { role: 'dialog', 'aria-modal': true };
  return (
    <FocusTrap active={!isSmall}>
      <section
        className="parley-call"
        aria-label={t('call.title', { name })}
        data-small={isSmall || undefined}
        data-phase={phase}
        onKeyDown={shrink}
        tabIndex={-1}
        data-autofocus
        {...dialog}
      >
        <header className="parley-call-head">
          <Text fw={650} truncate className="parley-person-words">
            <bdi>{name}</bdi>
          </Text>
          <Clock since={call.joinedAt} />
          <ActionIcon
            variant="subtle"
            color="gray.0"
            size="lg"
            aria-label={t(isSmall ? 'call.grow' : 'call.shrink')}
            title={t(isSmall ? 'call.grow' : 'call.shrink')}
            onClick={() => (isSmall ? center.grow() : center.shrink())}
          >
            {isSmall ? <Maximize2 size={18} /> : <Minimize2 size={18} />}
          </ActionIcon>
        </header>
        <Troubles call={call} />
        <div className="parley-tiles" data-count={participants.length}>
          {participants.map((participant) => (
            <CallTile key={participant.user} participant={participant} metrics={center.metricsOf(participant.user)} />
          ))}
          {(participants.length === 0 || phase === 'calling') && (
            <div className="parley-call-wait">
              {conversation !== undefined && <ConversationAvatar conversation={conversation} title={name} size={112} />}
              <Text role="status">{t(phase === 'calling' ? 'call.calling' : 'call.waiting')}</Text>
            </div>
          )}
          <OwnPicture call={call} />
        </div>
        <CallControls call={call} center={center} />
      </section>
    </FocusTrap>
  );
}

/** How long the call lasts. */
function Clock({ since }: { readonly since: number | undefined }) {
  const { t } = useTranslation();
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  if (since === undefined) return null;
  return (
    <Text size="sm" className="parley-call-clock" role="timer" aria-label={t('call.duration')}>
      {clockOf(Math.max(0, Math.floor((now - since) / 1_000)))}
    </Text>
  );
}

/** One’s own camera as in a mirror; a screen that is shared is not shown to who looks at it. */
function OwnPicture({ call }: { readonly call: Call }) {
  const { t } = useTranslation();
  const { media } = call;
  const track = media.state.screen ? undefined : (media.videoTrack ?? undefined);
  const element = useTrack(track);
  return (
    <div className="parley-own-picture" role="group" aria-label={t('call.you')} hidden={track === undefined}>
      <video ref={element} muted playsInline />
    </div>
  );
}

/** A device that cannot be had: why, and the way on. */
function Troubles({ call }: { readonly call: Call }) {
  const { t } = useTranslation();
  const { media } = call;
  return (['microphone', 'camera'] as const).map((kind) => {
    const trouble = media.troubleWith(kind);
    if (trouble === undefined) return null;
    return (
      <Alert key={kind} color="yellow" role="alert" className="parley-call-trouble" p="xs">
        {t(`call.${kind}.${trouble}`)}{' '}
        <Button size="compact-xs" variant="default" onClick={() => void media.open(kind)}>
          {t('app.retry')}
        </Button>
      </Alert>
    );
  });
}
