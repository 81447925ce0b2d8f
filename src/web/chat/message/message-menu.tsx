/** What is done with a message less often, behind one button; the menu is made when it is opened. */
import { Menu } from '@mantine/core';
import { Copy, Forward, Link2, Pin, PinOff } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ChatMessage } from '#src/client/conversations/records.ts';
import { useObserved } from '../../kit/observable.ts';
import { useMay, useOpenConversation } from '../conversation/open-conversation.ts';

/** Three points: each message has it, so it is bare elements. */
const SIGN = (
  <svg width="16" height="16" viewBox="0 0 24 24" aria-hidden="true">
    <path d="M12 5h.01M12 12h.01M12 19h.01" fill="none" stroke="currentColor" strokeWidth="3" strokeLinecap="round" />
  </svg>
);

export interface MessageMenuProps {
  readonly message: ChatMessage;
  readonly label: string;
}

export function MessageMenu({ message, label }: MessageMenuProps) {
  const [isOpen, setOpen] = useState(false);
  const button = (
    <button
      type="button"
      className="parley-plain-button parley-menu-button"
      aria-label={label}
      title={label}
      aria-haspopup="menu"
      aria-expanded={isOpen}
      onClick={() => setOpen(true)}
    >
      {SIGN}
    </button>
  );
  if (!isOpen) return button;
  return (
    <Menu opened onChange={setOpen} position="bottom-end" withinPortal>
      <Menu.Target>{button}</Menu.Target>
      <Menu.Dropdown>
        <Items message={message} />
      </Menu.Dropdown>
    </Menu>
  );
}

function Items({ message }: { readonly message: ChatMessage }) {
  const { t } = useTranslation();
  const { complain, conv, conversation, forward, pins } = useOpenConversation();
  const may = useMay();
  const { body, kind, seq } = message;
  const isPinned = useObserved(pins, () => pins.has(seq));
  // What is said in a secret chat stays there, and outcomes of calls are nobody's words: the server forwards neither.
  const mayForward = conversation.kind !== 'secret' && kind !== 'call' && kind !== 'system';
  const copy = (text: string) => void navigator.clipboard.writeText(text).catch(complain);
  const address = `${location.origin}${location.pathname}#/c/${conv}?at=${seq}`;
  // Browsers lend the clipboard to pages that came over TLS, or from this machine.
  const mayCopy = 'clipboard' in navigator;
  return (
    <>
      {mayForward && (
        <Menu.Item leftSection={<Forward size={16} />} onClick={() => forward(message)}>
          {t('forward.open')}
        </Menu.Item>
      )}
      {may('pin.change') && (
        <Menu.Item
          leftSection={isPinned ? <PinOff size={16} /> : <Pin size={16} />}
          onClick={() => void pins.pin(seq, !isPinned).catch(complain)}
        >
          {t(isPinned ? 'pins.remove' : 'pins.add')}
        </Menu.Item>
      )}
      {mayCopy && typeof body === 'string' && (
        <Menu.Item leftSection={<Copy size={16} />} onClick={() => copy(body)}>
          {t('message.copy')}
        </Menu.Item>
      )}
      {mayCopy && (
        <Menu.Item leftSection={<Link2 size={16} />} onClick={() => copy(address)}>
          {t('message.copyLink')}
        </Menu.Item>
      )}
    </>
  );
}
