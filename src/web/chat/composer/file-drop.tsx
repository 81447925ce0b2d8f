/** Files that are dropped anywhere on the conversation are sent to it. */
import { Center, Text } from '@mantine/core';
import { useRef, useState, type DragEvent, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useChat } from '../chat-context.ts';

export interface FileDropProps {
  readonly conv: string;
  readonly isTaking: boolean;
  readonly children: ReactNode;
}

export function FileDrop({ conv, isTaking, children }: FileDropProps) {
  const { t } = useTranslation();
  const { uploads } = useChat();
  const [isOver, setOver] = useState(false);
  // Each element under the pointer tells of coming and going: only the last going is one.
  const depth = useRef(0);
  const hasFiles = (event: DragEvent) => isTaking && event.dataTransfer.types.includes('Files');
  const move = (event: DragEvent, by: number) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth.current += by;
    setOver(depth.current > 0);
  };
  const drop = (event: DragEvent) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth.current = 0;
    setOver(false);
    uploads.add(conv, event.dataTransfer.files);
  };
  return (
    <div
      className="parley-drop"
      onDragEnter={(event) => move(event, 1)}
      onDragLeave={(event) => move(event, -1)}
      onDragOver={(event) => hasFiles(event) && event.preventDefault()}
      onDrop={drop}
    >
      {children}
      {isOver && (
        <Center className="parley-drop-over">
          <Text fw={600}>{t('composer.drop')}</Text>
        </Center>
      )}
    </div>
  );
}
