/** What is in sight of somebody who looks is read. */
import { useCallback, useEffect, useRef, type RefObject } from 'react';
import type { VirtualizerHandle } from 'virtua';
import { useChat } from '../chat-context.ts';
import type { Item } from './list-item.tsx';
import { useOpenConversation } from './open-conversation.ts';

/** Answers what to call when something moved, grew or came. */
export function useReading(
  rows: RefObject<VirtualizerHandle | null>,
  scroller: RefObject<HTMLElement | null>,
  drawn: RefObject<readonly Item[]>,
): () => void {
  const { client } = useChat();
  const { conv } = useOpenConversation();
  const frame = useRef(0);
  const mark = useCallback(() => {
    const element = scroller.current;
    const list = rows.current;
    if (element === null || list === null || document.hidden) return;
    let at = list.findItemIndex(element.scrollTop + element.clientHeight - 1);
    // One's own that are on their way stand behind all that was said.
    while (drawn.current[at]?.kind === 'sending') at -= 1;
    const seq = drawn.current[at]?.message?.seq;
    if (seq !== undefined) client.receipt(conv, 'read', seq);
  }, [client, conv, drawn, rows, scroller]);
  /** Once it is drawn: until then rows stand where they are reckoned to be. */
  const seen = useCallback(() => {
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(mark);
  }, [mark]);
  useEffect(() => {
    document.addEventListener('visibilitychange', mark);
    return () => {
      document.removeEventListener('visibilitychange', mark);
      cancelAnimationFrame(frame.current);
    };
  }, [mark]);
  return seen;
}
