/** What the frame around every screen works with. */
import { createContext, use } from 'react';
import type { Dialogs } from '../kit/dialogs.ts';
import type { Notices } from '../kit/notices.ts';
import type { ConsoleSession, Me } from '../session/console-session.ts';

export interface Frame {
  readonly session: ConsoleSession;
  readonly me: Me;
  readonly notices: Notices;
  readonly dialogs: Dialogs;
}

export const FrameContext = createContext<Frame | undefined>(undefined);

export function useFrame(): Frame {
  const frame = use(FrameContext);
  if (frame === undefined) throw new Error('Nobody is signed in here.');
  return frame;
}
