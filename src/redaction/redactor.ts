/** The de-personalised view of a text, of bytes, of a stream and of a JSON value (RED-01 … RED-07, RED-12). */
import { Engine, type Knowledge } from './engine.ts';
import { unmask } from './secrets/known-secrets.ts';
import { marker, type Span } from './spans.ts';
import { RedactionStream } from './stream.ts';

export type { Knowledge as RedactorOptions } from './engine.ts';

/** Where a value stands. */
export interface ValueContext {
  /** The key whose value it is. */
  readonly key?: string;
}

export class Redactor {
  readonly #engine: Engine;

  /** @throws RangeError for a key that has not 32 bytes. */
  constructor(options: Knowledge) {
    this.#engine = new Engine(options);
  }

  /** A text without what is personal. The count of lines stays, valid JSON stays valid, a second time changes nothing. */
  text(input: string): string {
    const source = Buffer.from(input);
    const output = this.bytes(source);
    return output.equals(source) ? input : output.toString('utf8');
  }

  /** The same for bytes, in UTF-8 or whatever else holds ASCII, or in UTF-16. */
  bytes(chunk: Buffer): Buffer {
    const stream = this.stream();
    const first = stream.push(chunk);
    const rest = stream.end();
    return rest.length === 0 ? first : Buffer.concat([first, rest]);
  }

  /** A JSON value without what is personal: strings, numbers under keys of phones and secrets, keys, JSON in strings. */
  value(json: unknown, context: ValueContext = {}): unknown {
    let source: string | undefined;
    try {
      source = JSON.stringify(json, (_key, value: unknown) => (typeof value === 'bigint' ? Number(value) : value)) as
        | string
        | undefined;
    } catch (error) {
      // A value deeper than a stack, or one that holds itself, is hidden as a whole.
      if (error instanceof RangeError || error instanceof TypeError) return marker('text');
      throw error;
    }
    if (source === undefined) return undefined;
    const output = this.#engine.json(source, context.key);
    return output === source ? json : (JSON.parse(output) as unknown);
  }

  /** For text that comes in chunks: the output is the same however they are cut. */
  stream(): RedactionStream {
    return new RedactionStream(this.#engine);
  }

  /** What would be replaced, with the class and the bytes of the UTF-8 text. */
  explain(input: string): Span[] {
    const source = Buffer.from(input).toString('latin1');
    const { spans, places } = this.#engine.explain(source);
    return unmask(spans, places);
  }
}
