/** Uploads under kills: files sent in pieces, posted, deleted; what was acknowledged is on disk, byte for byte. */
import { createHash, randomBytes } from 'node:crypto';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { append, begin, download, idOf, sendWhole, tus } from '#test/messaging/attaching.ts';
import { post, start } from '#test/messaging/conversing.ts';
import type { SeededRandom } from '#test/support/random.ts';
import type { Person, Reply, TestServer } from '#test/support/server.ts';
import { accepted, answered, type Lose, type Part, type PartOptions } from './part.ts';

const NAMES = ['uma', 'udo', 'ulf'] as const;
const FILE_BYTES_MAX = 90_000;
const PIECE_BYTES_MAX = 30_000;
/** Files of earlier cycles that are read once more after each kill. */
const OLD_FILES = 10;

interface Upload {
  readonly owner: string;
  readonly path: string;
  readonly bytes: Buffer;
  readonly clientId: string;
  /** What the server said it has, in bytes. */
  acknowledged: number;
  /** The message that has it, once that was acknowledged. */
  seq: number | undefined;
  /** Whether its message was asked to be deleted, and whether that was acknowledged. */
  deletion: 'asked' | 'done' | undefined;
}

export class UploadsPart implements Part {
  readonly environment = {};
  readonly #random: SeededRandom;
  readonly #lose: Lose;
  readonly #uploads: Upload[] = [];
  #people: Readonly<Record<string, Person>> = {};
  #room = '';
  #resumed = 0;
  #compared = 0;
  /** Up to here everything was compared once. */
  #verified = 0;

  constructor({ random, lose }: PartOptions) {
    this.#random = random;
    this.#lose = lose;
  }

  get figures(): Record<string, number> {
    const posted = this.#uploads.filter(({ seq }) => seq !== undefined).length;
    const deleted = this.#uploads.filter(({ deletion }) => deletion === 'done').length;
    return { uploads: this.#uploads.length, posted, deleted, resumed: this.#resumed, compared: this.#compared };
  }

  async settle(server: TestServer): Promise<void> {
    this.#people = await server.people(...NAMES);
    const [owner, ...others] = NAMES;
    ({ id: this.#room } = await start(server, this.#person(owner), 'room', others));
  }

  async traffic(server: TestServer): Promise<void> {
    await Promise.all(NAMES.map(async (name) => await this.#send(server, name, this.#random.fork())));
  }

  /** Goes on with every upload where the server says it is: only if it has what it acknowledged, the whole is right. */
  async verify(server: TestServer, isLast: boolean): Promise<void> {
    const fresh = this.#uploads.slice(this.#verified);
    for (const upload of fresh) await this.#finish(server, upload);
    const old = this.#uploads.slice(0, this.#verified);
    const some = Array.from({ length: Math.min(OLD_FILES, old.length) }, () => this.#random.pick(old));
    for (const upload of isLast ? this.#uploads : [...fresh, ...some]) await this.#compare(server, upload);
    this.#verified = this.#uploads.length;
  }

  async close(): Promise<void> {
    // Nothing runs beside the server.
  }

  async #send(server: TestServer, owner: string, random: SeededRandom): Promise<void> {
    for (;;) {
      const upload = await this.#begin(server, owner, random);
      if (upload === undefined) return;
      while (upload.acknowledged < upload.bytes.length) {
        const size = random.whole(1, PIECE_BYTES_MAX);
        if (!(await this.#append(server, upload, size))) return;
      }
      // Some are left without a message, as by a client that was closed.
      if (random.chance(0.1)) continue;
      const posted = await accepted(this.#post(server, upload), this.#lose);
      if (posted === undefined) return;
      upload.seq = posted.body.seq;
      if (random.chance(0.3) && !(await this.#delete(server, upload))) return;
    }
  }

  async #begin(server: TestServer, owner: string, random: SeededRandom): Promise<Upload | undefined> {
    const known = this.#uploads.at(-1);
    // Some have a content that is there already, of which one copy is kept.
    const isSame = known !== undefined && random.chance(0.2);
    const bytes = isSame ? known.bytes : randomBytes(random.whole(1, FILE_BYTES_MAX));
    const isWhole = random.chance(0.4);
    const path = isWhole
      ? (await accepted(sendWhole(server, this.#person(owner), bytes), this.#lose))?.headers.get('location')
      : await answered(begin(server, this.#person(owner), bytes.length));
    if (path === undefined || path === null) return undefined;
    const acknowledged = isWhole ? bytes.length : 0;
    const clientId = `${owner}-${this.#uploads.length}`;
    const upload: Upload = { owner, path, bytes, clientId, acknowledged, seq: undefined, deletion: undefined };
    this.#uploads.push(upload);
    return upload;
  }

  async #append(server: TestServer, upload: Upload, size: number): Promise<boolean> {
    const { acknowledged: offset, bytes, owner, path } = upload;
    const piece = bytes.subarray(offset, offset + size);
    const reply = await accepted(append(server, this.#person(owner), path, offset, piece), this.#lose);
    if (reply === undefined) return false;
    upload.acknowledged = Number(reply.headers.get('upload-offset'));
    if (upload.acknowledged === offset + piece.length) return true;
    this.#lose(`${path} is at ${upload.acknowledged} after ${piece.length} bytes from ${offset} on.`);
    return false;
  }

  async #post(server: TestServer, { bytes, clientId, owner, path }: Upload): Promise<Reply<Message>> {
    const body = { attachment: idOf(path), name: 'file.bin', type: 'application/octet-stream', size: bytes.length };
    return await post(server, this.#person(owner), this.#room, { kind: 'media', body, client_msg_id: clientId });
  }

  async #delete(server: TestServer, upload: Upload): Promise<boolean> {
    upload.deletion = 'asked';
    const path = `/v1/conversations/${this.#room}/messages/${upload.seq}`;
    const reply = await accepted(server.api(this.#person(upload.owner), 'DELETE', path), this.#lose);
    if (reply !== undefined) upload.deletion = 'done';
    return reply !== undefined;
  }

  /** Brings what a kill interrupted to its end. */
  async #finish(server: TestServer, upload: Upload): Promise<void> {
    const { bytes, owner, path } = upload;
    // Whether it went with its message is for the deletion to say, whether or not that was acknowledged.
    if (upload.deletion === 'asked' && !(await this.#delete(server, upload))) return;
    if (upload.deletion !== undefined) return;
    const head = await tus(server, this.#person(owner), 'HEAD', path);
    const offset = Number(head.headers.get('upload-offset'));
    if (head.status !== 200 || offset < upload.acknowledged || offset > bytes.length) {
      const asked = `answers ${head.status} with offset ${offset}`;
      this.#lose(`${path} had ${upload.acknowledged} of ${bytes.length} bytes acknowledged and ${asked}.`);
      return;
    }
    if (offset < bytes.length) {
      upload.acknowledged = offset;
      this.#resumed += 1;
      if (!(await this.#append(server, upload, bytes.length))) return;
    }
    const posted = await accepted(this.#post(server, upload), this.#lose);
    if (posted === undefined) return;
    if (upload.seq !== undefined && posted.body.seq !== upload.seq) {
      this.#lose(`${path} was posted as ${upload.seq} and, repeated, is ${posted.body.seq}.`);
    }
    upload.seq = posted.body.seq;
  }

  /** Reads it as somebody else in the room: it is there as it was sent, or not at all once its message was deleted. */
  async #compare(server: TestServer, { bytes, deletion, owner, path, seq }: Upload): Promise<void> {
    const reader = this.#person(NAMES.find((name) => name !== owner) as string);
    const read = await answered(download(server, reader, idOf(path), this.#room));
    this.#compared += 1;
    if (read === undefined) return this.#lose(`${path} of message ${seq} breaks off.`);
    if (deletion !== undefined) {
      if (read.status < 400) this.#lose(`${path} is still read, and its message ${seq} was deleted.`);
      return;
    }
    if (read.status !== 200) this.#lose(`${path} of message ${seq} answers ${read.status}.`);
    else if (hashOf(read.bytes) !== hashOf(bytes))
      this.#lose(`${path} of message ${seq} has other bytes than were sent.`);
  }

  #person(name: string): Person {
    return this.#people[name] as Person;
  }
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
