/** One request to the DAV door as its methods see it, and what they answer. */
import { TimeSlicer, type Payer } from '../time-slicer.ts';
import { multistatus, smallMultistatus, type Rows } from './xml/multistatus.ts';
import type { DavPath } from './paths.ts';
import type { Asking } from './properties/properties.ts';
import type { Headers } from './request-preferences.ts';

export interface DavRequest extends Asking {
  readonly method: string;
  /** The address that it came from, for the audit trail. */
  readonly address: string;
  /** The app password that it came with. */
  readonly appPassword: string;
  /** Where this server is for who asks: `https://calendar.example.org`. */
  readonly origin: string;
  /** Names that this server is asked under, as `hostOf` writes them. */
  readonly hosts: readonly string[];
  /** Undefined where the path can name nothing here. */
  readonly path: DavPath | undefined;
  readonly headers: Headers;
  /** Without its content encoding. */
  readonly body: Buffer;
}

/** The person who asks, as whoever pays for the work that it takes. */
export function payerOf({ context: { budgets }, viewer: user }: Asking): Payer {
  return { budgets, user };
}

export interface DavAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | AsyncIterable<string>;
}

const XML = { 'content-type': 'application/xml; charset=utf-8' } as const;

/** A 207 of few rows. */
export function answerRows(rows: readonly string[], tail = ''): DavAnswer {
  return { status: 207, headers: XML, body: smallMultistatus(rows, tail) };
}

/** A 207 of any number of rows, worked out at the cost of who asks. */
export function answerStream(asking: Asking, rows: Rows, tail?: () => string): DavAnswer {
  const slicer = new TimeSlicer(payerOf(asking));
  return { status: 207, headers: XML, body: multistatus(rows, slicer, tail) };
}

export function answerXml(status: number, body: string): DavAnswer {
  return { status, headers: XML, body: `<?xml version="1.0" encoding="utf-8"?>\n${body}\n` };
}
