/**
 * The control socket's wire, both ends: one JSON value a line, a request and then its answer.
 *
 *     {"command":"user.block","form":{"username":"bob"}}      →
 *     ← {"ok":true,"result":{"username":"bob"}}
 *     ← {"ok":false,"code":"username_taken","error":"The username is taken."}
 */
import type { Readable } from 'node:stream';
import { z } from 'zod';
import { folderPaths, socketName } from '#storage/engine/folder.ts';

export const controlRequest = z.strictObject({ command: z.string(), form: z.unknown() });

export const controlAnswer = z.discriminatedUnion('ok', [
  z.strictObject({ ok: z.literal(true), result: z.unknown() }),
  z.strictObject({ ok: z.literal(false), code: z.string(), error: z.string() }),
]);
export type ControlAnswer = z.infer<typeof controlAnswer>;

/** One request line: the longest form there is, a backup's path, has a few kilobytes. [closed with `line_too_long`] */
export const CONTROL_REQUEST_BYTES_MAX = 64 * 1024;

/** One answer line: the tokens of the largest seed. Beyond it the command gives up. */
export const CONTROL_ANSWER_BYTES_MAX = 256 * 1024 * 1024;

/**
 * The name under which the folder's control socket can be bound and reached from this process.
 * @throws FolderError when the folder lies too deep for one.
 */
export function controlAddress(folder: string): string {
  return socketName(folder, folderPaths(folder).control);
}

/** A line that is longer than its reader takes. */
export class LineTooLong extends Error {}

/** The lines of a stream. @throws LineTooLong for one of more bytes than `bytesMax`, as soon as it is. */
export async function* readLines(stream: Readable, bytesMax: number): AsyncGenerator<string> {
  let chunks: Buffer[] = [];
  let length = 0;
  // Whoever reads decides what becomes of the stream: a line that is too long still gets an answer.
  for await (const chunk of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    let rest = chunk;
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      if (length + end > bytesMax) throw new LineTooLong();
      yield Buffer.concat([...chunks, rest.subarray(0, end)]).toString('utf8');
      [chunks, length, rest] = [[], 0, rest.subarray(end + 1)];
    }
    chunks.push(rest);
    length += rest.length;
    if (length > bytesMax) throw new LineTooLong();
  }
}
