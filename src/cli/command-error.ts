/** What ends a command: a sentence for standard error, and the status it exits with. */

/** Exit codes of `parley`. */
export const EXIT = { ok: 0, refused: 1, usage: 2 } as const;

/** The command was understood and refused; its message is a sentence for the operator. */
export class CommandError extends Error {}

/** The command line itself is wrong. */
export class UsageError extends CommandError {}
