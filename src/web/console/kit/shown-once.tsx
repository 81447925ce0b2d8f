/** Secrets that the server shows once: to copy or to keep as a file, and gone from the page when dismissed. */
import { Button, Text } from '@mantine/core';
import { useRef, useState, type ReactNode } from 'react';
import { t, type Key } from '../words/words.ts';
import type { Dialogs } from './dialogs.ts';

export interface ShownOnceProps {
  readonly hint: Key;
  readonly secret: string;
  /** The name of the file that it can be kept as. */
  readonly file?: string | undefined;
  readonly more?: ReactNode;
  /** Called when its reader says that it is kept. */
  readonly onKept: () => void;
}

/** Shows a secret over the screen until its reader says that it is kept. */
export async function showOnce(dialogs: Dialogs, title: Key, secret: Omit<ShownOnceProps, 'onKept'>): Promise<void> {
  await dialogs.show({
    title,
    isHeld: true,
    size: 'lg',
    content: (close) => <ShownOnce {...secret} onKept={close} />,
  });
}

export function ShownOnce({ file, hint, more, onKept, secret }: ShownOnceProps) {
  const text = useRef<HTMLPreElement>(null);
  const [said, setSaid] = useState<Key>();
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(secret);
      setSaid('once.copied');
    } catch {
      // Without a secure context or the right there is no clipboard: what is selected can be copied by hand.
      if (text.current !== null) document.getSelection()?.selectAllChildren(text.current);
      setSaid('once.selected');
    }
  };
  return (
    <div className="once">
      <Text mb="xs">{t(hint)}</Text>
      <pre className="secret" tabIndex={0} translate="no" ref={text}>
        {secret}
      </pre>
      {more}
      <div className="actions">
        <Button variant="default" onClick={() => void copy()}>
          {t('action.copy')}
        </Button>
        {file === undefined ? null : (
          <Button variant="default" onClick={() => saveFile(new Blob([`${secret}\n`], { type: 'text/plain' }), file)}>
            {t('action.download')}
          </Button>
        )}
        <Button onClick={onKept}>{t('action.kept')}</Button>
        <span role="status">{said === undefined ? null : t(said)}</span>
      </div>
    </div>
  );
}

/** Has the browser keep something as a file of that name. */
export function saveFile(content: Blob, name: string): void {
  const address = URL.createObjectURL(content);
  const anchor = document.createElement('a');
  anchor.href = address;
  anchor.download = name;
  anchor.click();
  URL.revokeObjectURL(address);
}
