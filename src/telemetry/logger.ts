/** What a part of the server needs of a log; `Log` has it, and a test may put anything in its place. */
export interface Logger {
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
}
