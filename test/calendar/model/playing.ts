/** One run of the model test. */
import { SeededRandom } from '#test/support/random.ts';
import type { Ending } from '#test/mail/mail-server.ts';
import { Cast } from './cast.ts';
import { Play } from './play.ts';

/** @throws where anything that can be seen is another than the models say; the message has what was done. */
export async function playAtRandom(t: Ending, { seed, steps }: { seed: number; steps: number }): Promise<void> {
  const play = new Play(await Cast.open(t), new SeededRandom(seed));
  try {
    for (let step = 0; step < steps; step += 1) await play.step();
    await play.agree(true);
  } catch (error) {
    throw new Error(`seed ${seed}:\n${play.log.join('\n')}\n${String(error)}`, { cause: error });
  }
}
