/** A thread of the redaction pool: one engine, made once from what the pool gave to the thread. */
import { workerData } from 'node:worker_threads';
import { BEHIND_EVERYBODY, standBack } from '#src/pool/thread-priority.ts';
import { Redactor, type ValueContext } from './redactor.ts';

/** What a task asks for. Bytes come and go as they are; a value is anything that JSON can hold. */
export type RedactionTask =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'value'; readonly value: unknown; readonly context: ValueContext };

/** What a thread is given at its start. */
export interface RedactionSecrets {
  readonly key: Uint8Array;
  readonly secrets: readonly string[];
  /** That of a `KnownPeople`, to which another thread adds. */
  readonly people?: SharedArrayBuffer;
}

standBack(BEHIND_EVERYBODY);

const redactor = new Redactor(workerData as RedactionSecrets);

/** Carries out one task. @throws whatever fails: the pool answers with an error and never with the input. */
export function redact(task: RedactionTask): unknown {
  if (task.kind === 'value') return redactor.value(task.value, task.context);
  return redactor.bytes(Buffer.from(task.bytes.buffer, task.bytes.byteOffset, task.bytes.byteLength));
}
