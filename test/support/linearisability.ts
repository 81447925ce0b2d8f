/**
 * Whether what clients saw at the same time could have happened one after the other (Herlihy and Wing 1990): each operation
 * at one instant between its call and its answer.
 */

/** When it was called and answered, in milliseconds of one clock. */
interface Interval {
  readonly began: number;
  readonly ended: number;
}

/** Of a register, in which each value is written once. */
export interface RegisterOperation extends Interval {
  readonly kind: 'write' | 'read';
  readonly value: string;
}

/**
 * Whether a register's history has an order. Searches for it (Wing and Gong 1993) and remembers where it was (Lowe 2017). A
 * read that agrees is taken at once: it changes nothing, so nothing is lost by it.
 */
export function isRegister(history: readonly RegisterOperation[], initial: string): boolean {
  const seen = new Set<string>();
  const search = (left: readonly RegisterOperation[], value: string): boolean => {
    let rest = left;
    for (;;) {
      const first = Math.min(...rest.map(({ ended }) => ended));
      const agreeing = rest.find((one) => one.kind === 'read' && one.value === value && one.began <= first);
      if (agreeing === undefined) break;
      rest = rest.filter((one) => one !== agreeing);
    }
    if (rest.length === 0) return true;
    const state = `${value}\n${rest.map((one) => history.indexOf(one)).join(' ')}`;
    if (seen.has(state)) return false;
    seen.add(state);
    const first = Math.min(...rest.map(({ ended }) => ended));
    return rest.some(
      (one) =>
        one.kind === 'write' &&
        one.began <= first &&
        search(
          rest.filter((other) => other !== one),
          one.value,
        ),
    );
  };
  return search(history, initial);
}

/** Of a log: a post is answered with its place from 1 on, a read with how much there is. */
export interface LogOperation extends Interval {
  readonly kind: 'post' | 'read';
  readonly place: number;
}

/**
 * What a log's history contradicts; undefined when it has an order. The answers say which: posts by their place, reads behind
 * the post of theirs. So it is one if nothing that was over before something else began stands behind it.
 */
export function logFault(history: readonly LogOperation[]): string | undefined {
  const posts = history.filter(({ kind }) => kind === 'post').map(({ place }) => place);
  if (new Set(posts).size !== posts.length) return 'two posts have one place';
  const most = Math.max(0, ...posts);
  for (const one of history) {
    if (one.kind === 'read' && one.place > most) return `a read saw ${one.place} of ${most} posts`;
    for (const other of history) {
      if (one.ended >= other.began) continue;
      const isBehind = other.kind === 'post' ? one.place >= other.place : one.place > other.place;
      if (isBehind) return `a ${one.kind} of ${one.place} was over before a ${other.kind} of ${other.place} began`;
    }
  }
  return undefined;
}
