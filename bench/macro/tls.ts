/** `tls`: what TLS on the listeners costs: a connection, a request and a frame with it and without, beside a bare uWS app. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeSelfSigned } from '#src/tls/self-signed.ts';
import { bySize, interleave, startParley, type Bench, type BenchContext } from '../harness/bench.ts';
import { startPeer } from '../harness/peer.ts';
import { cpuMicros } from '../harness/process-cost.ts';
import { Secured, type Done } from '../harness/secured.ts';
import { messagesPath, type Subject } from '../harness/subject.ts';

const MEMBERS = 32;
const CONNECTIONS = 16;
/** About the bytes of the answer that ours gives. */
const CANNED = '/canned/120';
const READ = '/v1/me/capabilities';

/** A server, with TLS or without. */
interface Spoken {
  readonly name: string;
  readonly subject: Subject;
  readonly isTls: boolean;
}

export const tls: Bench = {
  name: 'tls',
  say: 'whole handshakes, requests and frames with TLS and without, beside a bare uWS app of both kinds',
  async run(context) {
    context.recorder.parameters({ connections: CONNECTIONS, sockets: MEMBERS, shards: context.shards });
    const folder = mkdtempSync(join(tmpdir(), 'parley-bench-tls-'));
    const spoken: Spoken[] = [];
    const generator = new Secured(context.pins.generator);
    try {
      // Each is there to be stopped before the next one starts.
      for await (const one of startAll(context, folder)) spoken.push(one);
      const rounds = bySize(context, { smoke: 1, default: 5, full: 7 });
      await interleave(context, rounds, spoken, async (one, round, isWarmUp) => {
        const values = await measure(context, generator, one);
        if (isWarmUp) return;
        for (const [name, figures] of Object.entries(values)) {
          context.recorder.round({ case: name, subject: one.name, round, values: figures });
        }
      });
    } finally {
      await generator.stop();
      await Promise.all(spoken.map(({ subject }) => subject.stop()));
      rmSync(folder, { recursive: true, force: true });
    }
    const { recorder } = context;
    const metrics = { connections: 'CPU µs/connection', requests: 'CPU µs/request', frames: 'CPU µs/frame' };
    for (const [name, metric] of Object.entries(metrics)) {
      recorder.ratio(name, metric, 'parley, TLS', 'parley');
      recorder.ratio(name, metric, 'bare uWS, TLS', 'bare uWS');
      recorder.ratio(name, metric, 'parley, TLS', 'bare uWS, TLS');
    }
    recorder.ratio('connections', 'a second', 'parley, TLS', 'bare uWS, TLS');
  },
};

/** Ours and the peer's, each without TLS and with it, over one certificate of P-256. */
async function* startAll(context: BenchContext, folder: string): AsyncIterable<Spoken> {
  const { certificate, key } = await makeSelfSigned(['localhost'], Date.now());
  const paths = [join(folder, 'certificate.pem'), join(folder, 'key.pem')] as const;
  writeFileSync(paths[0], certificate);
  writeFileSync(paths[1], key, { mode: 0o600 });
  const size = { people: MEMBERS, rooms: 1, members: MEMBERS };
  const files = { PARLEY_TLS_CERTIFICATE_FILE: paths[0], PARLEY_TLS_KEY_FILE: paths[1] };
  const { server } = context.pins;
  yield { name: 'parley', subject: await startParley(context, size), isTls: false };
  yield { name: 'parley, TLS', subject: await startParley(context, size, files), isTls: true };
  yield { name: 'bare uWS', subject: await startPeer('bare uWS', size, server), isTls: false };
  yield { name: 'bare uWS, TLS', subject: await startPeer('bare uWS', size, server, paths), isTls: true };
}

async function measure(context: BenchContext, generator: Secured, { isTls, subject }: Spoken) {
  const { host, pid, port, world } = subject;
  const target = { host, port, isTls };
  const seconds = bySize(context, { smoke: 0.3, default: 3, full: 5 });
  const posts = bySize(context, { smoke: 20, default: 500, full: 1_000 });
  const [person] = world.people;
  const [room] = world.rooms;
  if (person === undefined || room === undefined) throw new Error('nobody was seeded');
  const isOurs = subject.name === 'parley';
  const read = { path: isOurs ? READ : CANNED, token: person.token, connections: CONNECTIONS, seconds };
  const heard = { postPath: messagesPath(room), token: person.token, posts };
  const socketPaths = world.people.map((one) => subject.socketPath(one));
  const cost = async (what: string, work: Promise<Done>) => {
    const before = cpuMicros(pid);
    const { count, seconds: took } = await work;
    return { 'a second': count / took, [`CPU µs/${what}`]: (cpuMicros(pid) - before) / count };
  };
  return {
    connections: await cost('connection', generator.connects({ ...target, connections: CONNECTIONS, seconds })),
    requests: await cost('request', generator.requests({ ...target, ...read })),
    frames: await cost('frame', generator.frames({ ...target, ...heard, socketPaths })),
  };
}
