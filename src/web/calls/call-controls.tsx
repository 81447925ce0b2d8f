/** What one does in a call: mute, camera, screen, devices, hang up. */
import { ActionIcon, Menu } from '@mantine/core';
import { Check, Mic, MicOff, PhoneOff, ScreenShare, ScreenShareOff, Settings2, Video, VideoOff } from 'lucide-react';
import { useEffect, useState, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { Call } from '#src/client/calling/call.ts';
import type { MediaKind } from '#src/client/calling/call-media.ts';
import type { CallCenter } from './call-center.ts';

export function CallControls({ call, center }: { readonly call: Call; readonly center: CallCenter }) {
  const { t } = useTranslation();
  const { media } = call;
  const { screen, video } = media.state;
  const { isSilent } = media;
  /** What does not come is said where there is room for words. */
  const ask = async (kind: MediaKind) => {
    await (kind === 'microphone' ? media.speak() : media.open(kind));
    if (media.troubleWith(kind) !== undefined && center.isSmall) center.grow();
  };
  // Phones share no screen.
  const mayShare = 'getDisplayMedia' in (navigator.mediaDevices ?? {});
  return (
    <div className="parley-call-controls" role="toolbar" aria-label={t('call.devices')}>
      <Control
        label={t(isSilent ? 'call.unmute' : 'call.mute')}
        isOff={isSilent}
        onClick={() => (isSilent ? void ask('microphone') : media.mute(true))}
      >
        {isSilent ? <MicOff size={22} /> : <Mic size={22} />}
      </Control>
      <Control
        label={t(video ? 'call.cameraOff' : 'call.cameraOn')}
        isOff={!video}
        onClick={() => (video ? media.shut('camera') : void ask('camera'))}
      >
        {video ? <Video size={22} /> : <VideoOff size={22} />}
      </Control>
      {mayShare && (
        <Control
          label={t(screen ? 'call.unshare' : 'call.share')}
          isOff={false}
          onClick={() => (screen ? media.shut('screen') : void media.shareScreen())}
        >
          {screen ? <ScreenShareOff size={22} /> : <ScreenShare size={22} />}
        </Control>
      )}
      {!center.isSmall && <DeviceMenu call={call} />}
      <Control label={t('call.hangUp')} isOff={false} color="red.8" onClick={() => void center.hangUp()}>
        <PhoneOff size={22} />
      </Control>
    </div>
  );
}

interface ControlProps {
  readonly label: string;
  readonly isOff: boolean;
  readonly color?: string;
  readonly onClick: () => void;
  readonly children: ReactNode;
}

function Control({ label, isOff, color, onClick, children }: ControlProps) {
  return (
    <ActionIcon
      className="parley-call-control"
      data-off={isOff || undefined}
      variant="filled"
      color={color ?? (isOff ? 'gray.2' : 'dark.4')}
      c={color === undefined && isOff ? 'dark.9' : 'white'}
      radius="xl"
      aria-label={label}
      title={label}
      onClick={onClick}
    >
      {children}
    </ActionIcon>
  );
}

/** Which microphone and which camera. */
function DeviceMenu({ call }: { readonly call: Call }) {
  const { t } = useTranslation();
  const [isOpen, setOpen] = useState(false);
  return (
    <Menu position="top" withinPortal={false} opened={isOpen} onChange={setOpen} closeOnItemClick={false}>
      <Menu.Target>
        <ActionIcon
          className="parley-call-control"
          variant="filled"
          color="dark.4"
          radius="xl"
          aria-label={t('call.devices')}
          title={t('call.devices')}
        >
          <Settings2 size={22} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {isOpen && (
          <>
            <Devices call={call} kind="microphone" />
            <Devices call={call} kind="camera" />
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

function Devices({ call, kind }: { readonly call: Call; readonly kind: MediaKind }) {
  const { t } = useTranslation();
  const { media } = call;
  const [devices, setDevices] = useState<readonly MediaDeviceInfo[]>([]);
  useEffect(() => {
    let isOver = false;
    media.devices(kind).then(
      (found) => !isOver && setDevices(found),
      () => undefined,
    );
    return () => {
      isOver = true;
    };
  }, [media, kind]);
  const used = media.deviceOf(kind);
  return (
    <>
      <Menu.Label>{t(`call.${kind}`)}</Menu.Label>
      {devices.length === 0 && <Menu.Item disabled>{t('call.noDevices')}</Menu.Item>}
      {devices.map(({ deviceId, label }, index) => (
        <Menu.Item
          key={deviceId}
          leftSection={deviceId === used ? <Check size={16} /> : <span className="parley-no-check" />}
          onClick={() => void media.choose(kind, deviceId)}
        >
          {label === '' ? t('call.unnamedDevice', { number: index + 1 }) : label}
        </Menu.Item>
      ))}
    </>
  );
}
