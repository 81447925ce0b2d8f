/** The command line of the benches. */
import { parseArgs } from 'node:util';
import type { Size } from './schema.ts';

export interface Options {
  names: string[];
  size: Size;
  json?: string;
  folder?: string;
  shards?: number;
  rounds?: number;
}

export class OptionError extends Error {}

/** @throws OptionError that says what is allowed. */
export function readOptions(args: readonly string[], known: readonly string[]): Options {
  const { values, positionals } = parse(args);
  const names = positionals.includes('all') ? [...known] : positionals;
  const unknown = names.find((name) => !known.includes(name));
  if (names.length === 0 || unknown !== undefined) {
    const what = unknown === undefined ? 'Name a bench' : `There is no bench ${unknown}`;
    throw new OptionError(`${what}: ${known.join(', ')} or all.`);
  }
  if (values.full && values.smoke) throw new OptionError('--full and --smoke exclude each other.');
  return {
    names,
    size: values.full ? 'full' : values.smoke ? 'smoke' : 'default',
    ...(values.json === undefined ? {} : { json: values.json }),
    ...(values.data === undefined ? {} : { folder: values.data }),
    ...(values.shards === undefined ? {} : { shards: whole('--shards', values.shards) }),
    ...(values.rounds === undefined ? {} : { rounds: whole('--rounds', values.rounds) }),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        full: { type: 'boolean', default: false },
        smoke: { type: 'boolean', default: false },
        json: { type: 'string' },
        data: { type: 'string' },
        shards: { type: 'string' },
        rounds: { type: 'string' },
      },
    });
  } catch (error) {
    throw new OptionError(error instanceof Error ? error.message : String(error));
  }
}

function whole(name: string, text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new OptionError(`${name} takes a whole number from 1 to 9999, not ${text}.`);
  return Number(text);
}
