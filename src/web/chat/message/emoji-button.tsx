/** A small choice of emoji, made when it is opened: a row of them for each message would be hundreds of elements. */
import { ActionIcon, Popover, UnstyledButton } from '@mantine/core';
import { useState, type KeyboardEvent, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';

const EMOJI = [
  ...['👍', '❤️', '😂', '😮', '😢', '🙏', '🎉', '🔥'],
  ...['😀', '😉', '😊', '😍', '😘', '😎', '🤔', '🤨'],
  ...['😐', '😴', '😭', '😡', '🥳', '🤯', '🤝', '👋'],
  ...['👏', '💪', '👀', '👎', '👌', '✌️', '🤷', '🙌'],
  ...['✅', '❌', '❓', '❗', '💯', '⭐', '💡', '📌'],
  ...['☕', '🍰', '🍻', '🌞', '🌈', '🚀', '🐛', '🎂'],
] as const;
const COLUMNS = 8;

export interface EmojiButtonProps {
  readonly label: string;
  readonly onPick: (emoji: string) => void;
  readonly children: ReactNode;
  readonly size?: string;
}

export function EmojiButton({ label, onPick, children, size = 'md' }: EmojiButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const button = (
    <ActionIcon
      variant="subtle"
      color="gray"
      size={size}
      aria-label={label}
      title={label}
      aria-expanded={isOpen}
      onClick={() => setOpen(!isOpen)}
    >
      {children}
    </ActionIcon>
  );
  if (!isOpen) return button;
  return (
    <Popover opened onChange={setOpen} position="top-end" trapFocus returnFocus withinPortal>
      <Popover.Target>{button}</Popover.Target>
      <Popover.Dropdown p={6}>
        <Choice
          onPick={(emoji) => {
            setOpen(false);
            onPick(emoji);
          }}
        />
      </Popover.Dropdown>
    </Popover>
  );
}

/** Arrows go from one to the next, as in a grid. */
function Choice({ onPick }: { readonly onPick: (emoji: string) => void }) {
  const { t } = useTranslation();
  const press = (event: KeyboardEvent<HTMLDivElement>) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: COLUMNS, ArrowUp: -COLUMNS }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const buttons = [...event.currentTarget.querySelectorAll('button')];
    const at = buttons.indexOf(document.activeElement as HTMLButtonElement);
    buttons[Math.max(0, Math.min(buttons.length - 1, at + step))]?.focus();
  };
  return (
    <div className="parley-emoji" role="group" aria-label={t('emoji.title')} onKeyDown={press}>
      {EMOJI.map((emoji, index) => (
        <UnstyledButton
          key={emoji}
          className="parley-emoji-one"
          data-autofocus={index === 0 || undefined}
          onClick={() => onPick(emoji)}
        >
          {emoji}
        </UnstyledButton>
      ))}
    </div>
  );
}
