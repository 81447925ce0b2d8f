/**
 * What rooms say of somebody who is erased in their title, topic and purpose: found in the records of the lanes, and replaced by
 * the actors of the rooms. Messages of others are theirs: see `erasure-traces.ts` for what goes of those.
 */
import type { Address, Answer, Tell } from '#actors/runtime/actor.ts';
import { withoutNames } from '#src/base/name-forms.ts';
import { ERASED_NAME } from '#src/protocol/names.ts';
import { readRecords } from '#storage/conversations/room-records.ts';
import type { Lanes } from '#storage/engine/lanes.ts';

/** Records looked at in one turn of the thread: a millisecond or two. */
const READ_AT_ONCE = 200;
/** How long one room may take; a thread that restarts is asked again. */
const STEP_MILLIS = 10_000;

export interface RoomTracesOptions {
  readonly lanes: Pick<Lanes, 'environments' | 'requireWhole'>;
  readonly ask: (to: Address, message: Tell, millis: number) => Promise<Answer>;
  /** Waits before somebody who did not answer is asked again. */
  readonly pause: () => Promise<void>;
  readonly isStopping: () => boolean;
}

/** Takes the names of a person out of what rooms say of themselves; false when the server stops meanwhile. What was done is found done. */
export async function eraseFromRooms(
  user: string,
  names: readonly string[],
  options: RoomTracesOptions,
): Promise<boolean> {
  const { isStopping, lanes } = options;
  const isNamed = (text: string | undefined) =>
    text !== undefined && withoutNames(text, { user, names, standIn: ERASED_NAME }) !== text;
  // What lies in a lane that cannot be read would be left.
  lanes.requireWhole();
  for (const environment of lanes.environments) {
    environment.refresh();
    for (let after: string | undefined = ''; after !== undefined;) {
      if (isStopping()) return false;
      const records = readRecords(environment.tables, after, READ_AT_ONCE);
      const named = records.filter(({ room, title }) => [title, room?.topic, room?.purpose].some(isNamed));
      for (const { id } of named) if (!(await eraseIn(id, user, names, options))) return false;
      after = records.length < READ_AT_ONCE ? undefined : records.at(-1)?.id;
      await new Promise(setImmediate);
    }
  }
  return true;
}

/** False when the server stops meanwhile. */
async function eraseIn(
  id: string,
  user: string,
  names: readonly string[],
  { ask, isStopping, pause }: RoomTracesOptions,
): Promise<boolean> {
  while (!isStopping()) {
    const answer = await ask(`conversation:${id}`, { kind: 'eraseNames', user, names } as Tell, STEP_MILLIS);
    // It was deleted, and its title with it.
    if (answer.ok || answer.code === 'conversation_forbidden') return true;
    await pause();
  }
  return false;
}
