/** `attachments`: one large file and many small ones, up and down, beside nginx with the same files. */
import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bySize, interleave, startParley, type Bench, type BenchContext } from '../harness/bench.ts';
import type { Server } from '../harness/server.ts';
import { messagesPath, type Person } from '../harness/subject.ts';
import { findNginx, startNginx, type Nginx } from '../peers/nginx.ts';

const MIB = 1024 * 1024;
/** Transfers of small files under way at once, on both sides. */
const PARALLEL = 8;
/** Times that the small files go up and down to warm up: some hundred requests, until the compiler is through with their code. */
const SMALL_WARM_UPS = 8;
/** nginx answers when the kernel has a file; this is until the disk has it, which is what ours answers. */
const DURABLE = 'nginx, on disk';

interface Files {
  readonly folder: string;
  /** One; none where only the small ones are transferred. */
  readonly large: readonly string[];
  readonly largeBytes: number;
  readonly small: readonly string[];
}

/** What one side does: bring files up, and read again what it brought. */
interface Side {
  readonly name: 'parley' | 'nginx' | typeof DURABLE;
  /** Whether files can be brought to it. */
  readonly takes: boolean;
  upload(files: readonly string[]): Promise<void>;
  /** What has to happen to files that were brought, before they can be read. It is not measured. */
  uploaded(files: readonly string[]): Promise<void>;
  download(files: readonly string[]): Promise<void>;
}

export const attachments: Bench = {
  name: 'attachments',
  say: 'files of 256 MiB and of 1 MiB, up and down, beside nginx',
  async run(context) {
    const found = findNginx();
    if (found === undefined) return context.recorder.note('nginx is not installed: nothing to compare with');
    const files = makeFiles(context);
    const { shards, pins, recorder } = context;
    recorder.parameters({ 'large MiB': files.largeBytes / MIB, 'small files': files.small.length, PARALLEL, shards });
    const server = await startParley(context, { people: files.small.length, rooms: 1, members: files.small.length });
    const nginx = await startNginx(files.folder, pins.server, shards);
    try {
      const plain = makeNginxSide(nginx, pins.generator);
      const sides = [new ParleySide(server, pins.generator), plain, makeDurableSide(nginx, plain)];
      if (!nginx.hasPut) recorder.note('this nginx takes no PUT: uploads have no peer');
      await interleave(
        context,
        bySize(context, { smoke: 1, default: 5, full: 7 }),
        sides,
        async (side, round, isWarm) => {
          const times = isWarm ? SMALL_WARM_UPS : 1;
          for (let time = 0; time < times; time += 1) {
            // oxlint-disable-next-line no-await-in-loop -- One after the other, as they are measured.
            await measure(context, side, time === 0 ? files : { ...files, large: [] }, isWarm ? undefined : round);
          }
        },
      );
      compare(context);
    } finally {
      await Promise.all([server.stop(), nginx.stop()]);
      rmSync(files.folder, { recursive: true, force: true });
    }
  },
};

function compare({ recorder }: BenchContext): void {
  for (const name of ['large up', 'large down', 'small up', 'small down']) {
    recorder.bar(name, 'MiB/s', recorder.ratio(name, 'MiB/s', 'parley', 'nginx'), '≥', 0.8);
    if (name.endsWith('up')) recorder.ratio(name, 'MiB/s', 'parley', DURABLE);
  }
}

async function measure(context: BenchContext, side: Side, files: Files, round: number | undefined): Promise<void> {
  const cases: [name: string, names: readonly string[], bytes: number][] = [
    ['large', files.large, files.largeBytes],
    ['small', files.small, files.small.length * MIB],
  ];
  for (const [name, names, bytes] of cases) {
    if (names.length === 0) continue;
    for (const way of ['up', 'down'] as const) {
      if (way === 'up' ? !side.takes : side.name === DURABLE) continue;
      const began = process.hrtime.bigint();
      // oxlint-disable-next-line no-await-in-loop -- Rounds must not overlap.
      await (way === 'up' ? side.upload(names) : side.download(names));
      const seconds = Number(process.hrtime.bigint() - began) / 1e9;
      // oxlint-disable-next-line no-await-in-loop -- It comes between them.
      if (way === 'up') await side.uploaded(names);
      if (round === undefined) continue;
      const values = { 'MiB/s': bytes / MIB / seconds };
      context.recorder.round({ case: `${name} ${way}`, subject: side.name, round, values });
    }
  }
}

/** Files of noise, each one different. */
function makeFiles(context: BenchContext): Files {
  const folder = mkdtempSync(join(context.folder ?? tmpdir(), 'parley-files-'));
  const largeBytes = bySize(context, { smoke: 16, default: 256, full: 1024 }) * MIB;
  const count = bySize(context, { smoke: 8, default: 64, full: 256 });
  const make = (name: string, bytes: number): string => {
    const path = join(folder, name);
    const file = openSync(path, 'w');
    for (let at = 0; at < bytes; at += MIB) {
      writeSync(file, Buffer.alloc(MIB, createHash('sha512').update(`${name} ${at}`).digest()));
    }
    closeSync(file);
    return path;
  };
  const large = [make('large', largeBytes)];
  const small = Array.from({ length: count }, (_, index) => make(`small-${index}`, MIB));
  return { folder, large, largeBytes, small };
}

/** Transfers that one process of curl makes, some at a time; its own cost is the same for both sides. */
async function curl(cores: readonly number[], transfers: readonly string[][]): Promise<string> {
  const args = ['--silent', '--show-error', '--fail', '--parallel', '--parallel-max', String(PARALLEL)];
  for (const [index, transfer] of transfers.entries())
    args.push(...(index === 0 ? [] : ['--next', '--fail']), ...transfer);
  const command = ['curl', ...args];
  const [program = '', ...rest] = cores.length === 0 ? command : ['taskset', '--cpu-list', cores.join(','), ...command];
  const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, said] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  if (code !== 0) throw new Error(`curl ended with ${code}: ${said}`);
  return out;
}

function makeNginxSide({ hasPut, port }: Nginx, cores: readonly number[]): Side {
  const urlOf = (path: string) => `http://127.0.0.1:${port}/${path.split('/').at(-1)}`;
  return {
    name: 'nginx',
    takes: hasPut,
    upload: async (files) => {
      await curl(
        cores,
        files.map((path) => ['--output', '/dev/null', '--upload-file', path, urlOf(path)]),
      );
    },
    uploaded: async () => await Promise.resolve(),
    download: async (files) => {
      await curl(
        cores,
        files.map((path) => ['--output', '/dev/null', urlOf(path)]),
      );
    },
  };
}

/** The same nginx, with each of the files that it took put on disk: the same promise as ours. */
function makeDurableSide({ files: folder }: Nginx, plain: Side): Side {
  return {
    ...plain,
    name: DURABLE,
    upload: async (files) => {
      await plain.upload(files);
      await Promise.all(files.map(async (path) => await settle(join(folder, path.split('/').at(-1) ?? ''))));
    },
  };
}

async function settle(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Each small file is another person's, so that nobody meets a limit of theirs. */
class ParleySide implements Side {
  readonly name = 'parley';
  readonly takes = true;
  readonly #server: Server;
  readonly #cores: readonly number[];
  /** File → where it can be read. */
  readonly #posted = new Map<string, string>();

  constructor(server: Server, cores: readonly number[]) {
    this.#server = server;
    this.#cores = cores;
  }

  get #base(): string {
    return `http://${this.#server.host}:${this.#server.port}`;
  }

  #person(index: number): Person {
    const { people } = this.#server.world;
    return people[index % people.length]!;
  }

  async upload(files: readonly string[]): Promise<void> {
    const heads = join(tmpdir(), `parley-heads-${randomUUID()}`);
    const headOf = (index: number) => `${heads}-${index}`;
    await curl(
      this.#cores,
      files.map((path, index) => [
        ...['--request', 'POST', '--output', '/dev/null', '--dump-header', headOf(index), '--upload-file', path],
        ...['--header', `authorization: Bearer ${this.#person(index).token}`, '--header', 'tus-resumable: 1.0.0'],
        ...['--header', 'content-type: application/offset+octet-stream', '--header', 'expect:'],
        ...['--header', `upload-length: ${lengthOf(path)}`, `${this.#base}/v1/attachments`],
      ]),
    );
    for (const [index, path] of files.entries()) {
      const [, id = ''] = /^location: \/v1\/attachments\/(\S+)$/im.exec(readFileSync(headOf(index), 'utf8')) ?? [];
      rmSync(headOf(index));
      this.#posted.set(path, id);
    }
  }

  async download(files: readonly string[]): Promise<void> {
    const room = this.#server.world.rooms[0]!;
    await curl(
      this.#cores,
      files.map((path, index) => [
        ...['--output', '/dev/null', '--header', `authorization: Bearer ${this.#person(index).token}`],
        `${this.#base}/v1/attachments/${this.#posted.get(path)}?conversation=${room.id}`,
      ]),
    );
  }

  /** Posts them: whoever takes part in the room reads them. */
  async uploaded(files: readonly string[]): Promise<void> {
    const room = this.#server.world.rooms[0]!;
    for (const [index, path] of files.entries()) {
      const body = { attachment: this.#posted.get(path), name: 'file', type: 'a/b', size: 0 };
      // oxlint-disable-next-line no-await-in-loop -- Posted one by one, so that nothing is refused.
      const response = await fetch(`${this.#base}${messagesPath(room)}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${this.#person(index).token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ kind: 'media', body, client_msg_id: randomUUID() }),
      });
      // oxlint-disable-next-line no-await-in-loop -- The answer of a refusal.
      if (response.status !== 201) throw new Error(`a file was not posted: ${await response.text()}`);
    }
  }
}

function lengthOf(path: string): number {
  return statSync(path).size;
}
