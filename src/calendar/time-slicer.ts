/** Long work on the thread that everybody's requests go through, in slices with a turn for the others between them. */
import { setImmediate as nextTurn, setTimeout as rest } from 'node:timers/promises';
import type { WorkBudgets } from './work-budget.ts';

/** How long one request is worked on before others get their turn, in milliseconds. */
export const SLICE_MILLIS = 5;

/** For whom it is worked: their budget pays for the slices. */
export interface Payer {
  readonly budgets: WorkBudgets;
  readonly user: string;
}

/** Waits while a person has used up their budget, and for their turn, so that nothing more is begun for them. */
export async function rested({ budgets, user }: Payer): Promise<void> {
  const pause = budgets.charge(user, 0);
  if (pause > 0) await rest(pause);
  await budgets.roundRobin.begin(user);
}

/** Pays for milliseconds of work, and waits for the payer's next turn. */
async function passTurn({ budgets, user }: Payer, worked: number): Promise<void> {
  const pause = budgets.charge(user, worked);
  if (pause === 0) return await budgets.roundRobin.next(user);
  await rest(pause);
  await budgets.roundRobin.begin(user);
}

export class TimeSlicer {
  readonly #payer: Payer | undefined;
  #began = performance.now();

  /** Without a payer the work is the server's own. */
  constructor(payer?: Payer) {
    this.#payer = payer;
  }

  /** Whether the slice is used up. */
  get isOver(): boolean {
    return performance.now() - this.#began >= SLICE_MILLIS;
  }

  /** Gives others their turn, where the slice is used up; whoever has used up their budget waits until they have some. */
  async pass(): Promise<void> {
    if (!this.isOver) return;
    const worked = performance.now() - this.#began;
    await (this.#payer === undefined ? nextTurn() : passTurn(this.#payer, worked));
    this.#began = performance.now();
  }
}
