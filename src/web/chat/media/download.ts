/** Gets a file and puts it where the browser has downloads. */
import { harmlessName } from '../../kit/harmless-text.ts';
import { useChat } from '../chat-context.ts';
import type { FileBody } from '../conversation-words.ts';
import { useOpenConversation } from '../conversation/open-conversation.ts';

/** Files up to here are held by the page on their way to the disk; what is larger goes there directly. */
export const HELD_BYTES_MAX = 64 * 1024 * 1024;
/** By then the browser has taken what was handed to it. */
const RELEASE_MILLIS = 60_000;
export const MESSAGING = document.documentElement.dataset['messaging'] ?? '';

export interface PlacedFile {
  readonly conv: string;
  readonly file: FileBody;
}

export function useDownload({ conv, file }: PlacedFile): () => void {
  const { client } = useChat();
  const { complain } = useOpenConversation();
  return () => {
    const name = harmlessName(file.name, 'file');
    if (file.size > HELD_BYTES_MAX) {
      // Too much to hold: the browser gets it by a link, which is good for minutes and for this file alone.
      const follow = ({ path }: { path: string }) => press(`${MESSAGING}${path}`, name);
      client.attachments.link(file.attachment, conv).then(follow, complain);
      return;
    }
    const take = async () => {
      const response = await client.attachments.download(file.attachment, conv);
      const url = URL.createObjectURL(await response.blob());
      press(url, name);
      setTimeout(() => URL.revokeObjectURL(url), RELEASE_MILLIS);
    };
    take().catch(complain);
  };
}

/** A page of its own, should the browser show it: this one stays. */
function press(address: string, name: string): void {
  const anchor = document.createElement('a');
  anchor.href = address;
  anchor.download = name;
  anchor.rel = 'noopener noreferrer';
  if (!address.startsWith('blob:')) anchor.target = '_blank';
  anchor.click();
}
