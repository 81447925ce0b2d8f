/** A button that opens the choice of emoji, which is made when it is opened, and whose script comes with the first one. */
import { ActionIcon, Popover, Skeleton } from '@mantine/core';
import { lazy, Suspense, useState, type ReactNode } from 'react';

const EmojiPicker = lazy(async () => ({ default: (await import('./emoji-picker.tsx')).EmojiPicker }));

export interface EmojiButtonProps {
  readonly label: string;
  readonly onPick: (emoji: string) => void;
  readonly children: ReactNode;
  readonly size?: string;
  /** Whether the installation's own may be chosen, too, as `:name:`. */
  readonly hasCustom?: boolean;
}

export function EmojiButton({ label, onPick, children, size = 'md', hasCustom = false }: EmojiButtonProps) {
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
      <Popover.Dropdown p={8}>
        <Suspense fallback={<Skeleton className="parley-emoji-picker" />}>
          <EmojiPicker
            hasCustom={hasCustom}
            onPick={(emoji) => {
              setOpen(false);
              onPick(emoji);
            }}
          />
        </Suspense>
      </Popover.Dropdown>
    </Popover>
  );
}
