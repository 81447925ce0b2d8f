/** Options of the programs among the tests. */

/** The option's whole number; anything else ends the program with 2 and says what is allowed. */
export function wholeNumber(name: string, text: string, least: number): number {
  if (/^\d{1,10}$/.test(text) && Number(text) >= least) return Number(text);
  process.stderr.write(`--${name} takes a whole number from ${least} on, not ${JSON.stringify(text)}.\n`);
  return process.exit(2);
}
