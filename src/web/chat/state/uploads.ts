/** Files on their way up, each with its progress; one that fails waits to be tried again from where it stopped. */
import type { MessageForm } from '#src/client/conversations/outbox.ts';
import type { ParleyClient } from '#src/client/parley-client.ts';
import { ParleyError } from '#src/client/parley-error.ts';
import { randomSymbols } from '#src/base/ids.ts';
import { harmlessName } from '../../kit/harmless-text.ts';
import { sentenceOf } from '../../kit/language.ts';
import { Observable } from '../../kit/observable.ts';
import type { SendingMessages } from './sending.ts';

/** What a media message takes for a name. */
const NAME_LENGTH_MAX = 255;
const TYPE = /^[\w.+-]+\/[\w.+-]+$/;
const KEY_SYMBOLS = 12;

export interface Upload {
  readonly key: string;
  readonly conv: string;
  readonly name: string;
  /** From 0 to 1. */
  readonly progress: number;
  /** Why it stopped; undefined while it goes on. */
  readonly failure: string | undefined;
}

interface Work {
  readonly file: File;
  readonly controller: AbortController;
  upload: Upload;
  /** The id that the server gave it: to go on from. */
  begun: string | undefined;
}

export class Uploads extends Observable {
  readonly #client: ParleyClient;
  readonly #sending: SendingMessages;
  readonly #works = new Map<string, Work>();
  #lists = new Map<string, readonly Upload[]>();

  constructor(client: ParleyClient, sending: SendingMessages) {
    super();
    this.#client = client;
    this.#sending = sending;
  }

  in(conv: string): readonly Upload[] {
    return this.#lists.get(conv) ?? NONE;
  }

  /** Sends files, each as a message of its own once it is up. */
  add(conv: string, files: Iterable<File>): void {
    for (const file of files) {
      const key = randomSymbols(KEY_SYMBOLS);
      const upload = { key, conv, name: file.name, progress: 0, failure: undefined };
      this.#works.set(key, { file, controller: new AbortController(), upload, begun: undefined });
      void this.#run(key);
    }
    this.#redraw();
  }

  retry(key: string): void {
    this.#show(key, { failure: undefined });
    void this.#run(key);
  }

  cancel(key: string): void {
    const work = this.#works.get(key);
    this.#works.delete(key);
    work?.controller.abort();
    // What is up of it would count against the person's quota until it is swept.
    if (work?.begun !== undefined) this.#client.attachments.discard(work.begun).catch(() => undefined);
    this.#redraw();
  }

  async #run(key: string): Promise<void> {
    const work = this.#works.get(key);
    if (work === undefined) return;
    const { begun, controller, file, upload } = work;
    try {
      const id = await this.#client.attachments.upload(file, {
        name: file.name,
        signal: controller.signal,
        ...(begun === undefined ? {} : { resume: begun }),
        onBegun: (given) => {
          work.begun = given;
        },
        onProgress: (sent, total) => this.#show(key, { progress: total === 0 ? 1 : sent / total }),
      });
      const form = { kind: 'media', body: { attachment: id, ...(await describe(file)) } } satisfies MessageForm;
      if (!this.#works.delete(key)) return;
      this.#sending.post(upload.conv, form);
    } catch (thrown) {
      if (thrown instanceof ParleyError && thrown.code === 'transfer_aborted') return;
      this.#show(key, { failure: sentenceOf(thrown) });
    }
    this.#redraw();
  }

  #show(key: string, change: Partial<Upload>): void {
    const work = this.#works.get(key);
    if (work === undefined) return;
    work.upload = { ...work.upload, ...change };
    this.#redraw();
  }

  #redraw(): void {
    this.#lists = new Map();
    for (const { upload } of this.#works.values()) {
      this.#lists.set(upload.conv, [...(this.#lists.get(upload.conv) ?? []), upload]);
    }
    this.changed();
  }
}

const NONE: readonly Upload[] = [];

async function describe(file: File) {
  const type = TYPE.test(file.type) ? file.type : 'application/octet-stream';
  const name = harmlessName(file.name, 'file').slice(-NAME_LENGTH_MAX).toWellFormed();
  return { name, type, size: file.size, ...(type.startsWith('image/') ? await sizeOf(file) : {}) };
}

/** So that the place of a picture is known before the picture is there; nothing for what this browser cannot draw. */
async function sizeOf(file: File): Promise<{ width?: number; height?: number }> {
  try {
    const bitmap = await createImageBitmap(file);
    const { width, height } = bitmap;
    bitmap.close();
    return { width, height };
  } catch {
    return {};
  }
}
