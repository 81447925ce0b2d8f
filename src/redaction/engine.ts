/** The rules, the pseudonyms of one key and the installation's own secrets, made ready once for all texts. */
import { startState, type Engine as Shared, type LineState } from './context.ts';
import { KnownSecrets } from './secrets/known-secrets.ts';
import { walkJson } from './values/json.ts';
import { beginsInsideKey, startInside } from './secrets/private-keys.ts';
import { KnownPeople } from './identifiers/known-people.ts';
import { putRepeats } from './identifiers/repeats.ts';
import { Pseudonyms } from './identifiers/pseudonyms.ts';
import { KeyCache, Rules } from './rules/rules.ts';
import type { Row } from './rules/rows.ts';
import { TextScan } from './scan.ts';
import type { Span } from './spans.ts';
import { TABLE } from './rules/table.ts';

export interface Knowledge {
  /** The installation key, 32 bytes. */
  readonly key: Uint8Array;
  /** The installation's own secrets, masked wherever their value stands; those under 8 characters are passed by. */
  readonly secrets?: readonly string[];
  /** The names of the installation's own people, hidden wherever they stand as words: the memory of a `KnownPeople`. */
  readonly people?: SharedArrayBuffer;
  /** The table of rules, when it is another one than that of the program. */
  readonly rows?: readonly Row[];
}

/** The program's own table, made ready. */
const OWN = new Rules(TABLE);

export class Engine {
  readonly #known: KnownSecrets;
  readonly #shared: Shared;

  /** @throws RangeError for a key that has not 32 bytes. */
  constructor({ key, secrets = [], people, rows }: Knowledge) {
    this.#known = new KnownSecrets(secrets);
    const rules = rows === undefined ? OWN : new Rules(rows);
    this.#shared = {
      rules,
      keys: new KeyCache(rules),
      pseudonyms: new Pseudonyms(key),
      people: new KnownPeople(people),
      clean: (text) => this.lines(Buffer.from(text, 'latin1'), startState()).toString('latin1'),
    };
  }

  /** Whole lines, without what is personal, as bytes of their own; the state goes on from text to text. */
  lines(bytes: Buffer, state: LineState): Buffer {
    const text = bytes.toString('latin1');
    const places = this.#known.find(text);
    if (places.length === 0) return this.#scan(bytes, text, state).written(bytes);
    const masked = this.#known.mask(text, places);
    const maskedBytes = Buffer.from(masked, 'latin1');
    return this.#scan(maskedBytes, masked, state).written(maskedBytes);
  }

  #scan(bytes: Buffer, text: string, state: LineState): TextScan['spans'] {
    const scan = new TextScan(this.#shared, bytes, text, state);
    scan.lines();
    return scan.spans;
  }

  /** A JSON text, all of it under a key, without what is personal. */
  json(source: string, key: string | undefined): string {
    const text = Buffer.from(source).toString('latin1');
    const masked = this.#known.mask(text, this.#known.find(text));
    const scan = new TextScan(this.#shared, Buffer.from(masked, 'latin1'), masked, startState());
    walkJson(scan, 0, key === undefined ? 'none' : this.#shared.keys.classOf(Buffer.from(key).toString('latin1')));
    scan.putPeople(0, masked.length, 0);
    putRepeats(scan.spans, masked, 0, masked.length, 0);
    const output = scan.spans.output();
    return output === text ? source : Buffer.from(output, 'latin1').toString('utf8');
  }

  /** What would be put where in a whole text, and the places of known secrets that were masked before. */
  explain(source: string): { spans: readonly Span[]; places: readonly { start: number; end: number }[] } {
    const places = this.#known.find(source);
    const masked = this.#known.mask(source, places);
    const state = startState();
    if (beginsInsideKey(masked, true) === true) startInside(state.key);
    return { spans: this.#scan(Buffer.from(masked, 'latin1'), masked, state).list, places };
  }
}
