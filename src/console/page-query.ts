/** The query of a list of the console that is paged by the id of its last item. */
import { z } from 'zod';

/** `after` is what `next` said; `limit` is `most` unless less is asked for. */
export function pageQuery(most: number) {
  return z.strictObject({
    after: z
      .string()
      .regex(/^[0-9a-z]{22}$/)
      .optional(),
    limit: z.coerce.number().int().min(1).max(most).default(most),
  });
}
