/** Addresses inside this page of pictures that come with the session's token, released when they are not shown any more. */
import { useEffect, useState } from 'react';
import { useChat } from '../chat-context.ts';
import { HELD_BYTES_MAX, type PlacedFile } from './download.ts';

export interface HeldPicture {
  readonly url: string | undefined;
  /** Whether there is none to be had. */
  readonly isMissing: boolean;
}

function useHeld(read: () => Promise<Blob>, of: readonly unknown[]): HeldPicture {
  const [url, setUrl] = useState<string>();
  const [isMissing, setMissing] = useState(false);
  useEffect(() => {
    let made: string | undefined;
    let isOver = false;
    setUrl(undefined);
    setMissing(false);
    read().then(
      (blob) => {
        if (isOver) return;
        made = URL.createObjectURL(blob);
        setUrl(made);
      },
      () => isOver || setMissing(true),
    );
    return () => {
      isOver = true;
      if (made !== undefined) URL.revokeObjectURL(made);
    };
  }, of);
  return { url, isMissing };
}

export function useThumbnail(id: string, conv: string, size: 320 | 1024): HeldPicture {
  const { client } = useChat();
  return useHeld(async () => await client.attachments.thumbnail(id, conv, size), [client, conv, id, size]);
}

/** The picture itself, where it is not too much to hold and a browser draws its kind. */
export function useWholePicture({ conv, file }: PlacedFile): HeldPicture {
  const { client } = useChat();
  const { attachment, size, type } = file;
  const read = async () => {
    if (size > HELD_BYTES_MAX || !DRAWN.has(type)) throw new RangeError('The thumbnail stands in its place.');
    const response = await client.attachments.download(attachment, conv);
    return new Blob([await response.arrayBuffer()], { type });
  };
  return useHeld(read, [client, conv, attachment]);
}

const DRAWN = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']);
