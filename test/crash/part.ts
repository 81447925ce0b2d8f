/** A part of what the campaign does: its people, what they do until the kill, and what has to be there after it. */
import type { SeededRandom } from '#test/support/random.ts';
import type { Reply, TestServer } from '#test/support/server.ts';

export const PART_NAMES = [
  'messages',
  'uploads',
  'calls',
  'push',
  'search',
  'calendar',
  'mail',
  'feeds',
  'holds',
] as const;
export type PartName = (typeof PART_NAMES)[number];

/** Notes one thing that was lost, doubled or changed, as a sentence. */
export type Lose = (sentence: string) => void;

export interface PartOptions {
  readonly random: SeededRandom;
  readonly lose: Lose;
  /** The console session of the owner of the installation. */
  readonly ownerToken: string;
}

export interface Part {
  /** Variables of the environment that the server is started with for it. */
  readonly environment: Readonly<Record<string, string>>;
  /** What was done so far, by name. */
  readonly figures: Readonly<Record<string, number>>;
  /** People and their conversations, once, on the first server. */
  settle(server: TestServer): Promise<void>;
  /** Does its work until the server is gone. */
  traffic(server: TestServer): Promise<void>;
  /** Looks into the folder of a server that is gone. */
  inspect?(folder: string): Promise<void>;
  /** Holds a server that was started again against what was acknowledged before; everything ever, the last time. */
  verify(server: TestServer, isLast: boolean): Promise<void>;
  /** Ends what it started beside the server. */
  close(): Promise<void>;
}

/** The answer, or undefined when there was none because the server was killed. */
export async function answered<R>(sent: Promise<R>): Promise<R | undefined> {
  try {
    return await sent;
  } catch (error) {
    // A broken connection is a TypeError of fetch; anything else is a defect that must not pass for a kill.
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** The answer, or undefined when there was none, or when it refuses: that is noted, since nothing sent here is refusable. */
export async function accepted<T>(sent: Promise<Reply<T>>, lose: Lose): Promise<Reply<T> | undefined> {
  const reply = await answered(sent);
  if (reply === undefined || reply.status < 300) return reply;
  lose(`A valid request was refused with ${reply.status}: ${reply.text}`);
  return undefined;
}
