/** Reads a page of a personnel system, on a thread of the pool: four megabytes of JSON are not read beside requests. */
import { z } from 'zod';
import { USERNAME } from '#src/protocol/names.ts';

/** What is wanted of a page: who has left by it, and where the next one begins. */
interface PersonnelPage {
  readonly left: readonly string[];
  readonly next: string | null;
}

const page = z.object({
  items: z.array(z.object({ username: z.string().regex(USERNAME), state: z.enum(['active', 'left']) })),
  next: z.string().min(1).max(500).nullable(),
});

/** @throws Error for what is no page. */
export function readPersonnelPage(text: string): PersonnelPage {
  const { items, next } = page.parse(JSON.parse(text));
  return { left: items.flatMap(({ state, username }) => (state === 'left' ? [username] : [])), next };
}
