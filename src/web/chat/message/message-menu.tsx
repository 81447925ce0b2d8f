/** What is done with a message less often, behind one button; the menu is made when it is opened. */
import { ActionIcon, Menu } from '@mantine/core';
import { Copy, EllipsisVertical, Forward, Link2, Pin, PinOff } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ChatMessage } from '#src/client/conversations/records.ts';
import { useObserved } from '../../kit/observable.ts';
import { useOpenConversation } from '../conversation/open-conversation.ts';

export function MessageMenu({ message }: { readonly message: ChatMessage }) {
  const { t } = useTranslation();
  const [isOpen, setOpen] = useState(false);
  const button = (
    <ActionIcon
      variant="subtle"
      color="gray"
      aria-label={t('message.menu')}
      title={t('message.menu')}
      aria-haspopup="menu"
      aria-expanded={isOpen}
      onClick={() => setOpen(true)}
    >
      <EllipsisVertical size={16} />
    </ActionIcon>
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
  const { complain, conv, conversation, forward, may, pins } = useOpenConversation();
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
