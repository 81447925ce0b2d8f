/**
 * Durable posts a second against any running server, with the autocannon load tool: a second opinion on `post-ack`.
 *
 *     node bench/autocannon-post.ts --url http://127.0.0.1:8081 --conversation c_… --token-file FILE
 *          [--connections 64] [--seconds 10] [--rate N]
 *
 * The token is a session's, on the first line of the file (`parley seed` writes some; log in for one). Without
 * `--rate` every connection posts as fast as it is answered; with it they post N a second together.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { textOf } from './harness/payload.ts';

interface AutocannonResult {
  '2xx': number;
  non2xx: number;
  errors: number;
  duration: number;
  requests: { average: number };
  latency: { p50: number; p90: number; p99: number; p99_9: number; max: number };
}

/** The little of autocannon's interface that is used here; it brings no types. */
type Autocannon = (options: {
  url: string;
  method: 'POST';
  connections: number;
  duration: number;
  overallRate?: number;
  headers: Record<string, string>;
  /** Replaces `[<id>]` in the body by an id of its own for each request. */
  idReplacement: boolean;
  body: string;
}) => Promise<AutocannonResult>;

const autocannon = createRequire(import.meta.url)('autocannon') as Autocannon;

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:8081' },
    conversation: { type: 'string' },
    'token-file': { type: 'string' },
    connections: { type: 'string', default: '64' },
    seconds: { type: 'string', default: '10' },
    rate: { type: 'string' },
  },
});

if (values.conversation === undefined || values['token-file'] === undefined) {
  process.stderr.write('--conversation and --token-file are needed; see the first lines of this file.\n');
  process.exit(2);
}

const token = readFileSync(values['token-file'], 'utf8').split('\n')[0]?.trim() ?? '';
const result = await autocannon({
  url: `${values.url}/v1/conversations/${values.conversation}/messages`,
  method: 'POST',
  connections: Number(values.connections),
  duration: Number(values.seconds),
  ...(values.rate === undefined ? {} : { overallRate: Number(values.rate) }),
  headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  idReplacement: true,
  body: JSON.stringify({ kind: 'text', body: textOf(1), client_msg_id: '[<id>]' }),
});

const { p50, p90, p99, p99_9: p999, max } = result.latency;
process.stdout.write(
  `${result['2xx']} posts stored in ${result.duration} s, ${result.requests.average}/s; ${result.non2xx} refused, ${result.errors} lost\n` +
    `acknowledged after ms: p50 ${p50}, p90 ${p90}, p99 ${p99}, p99.9 ${p999}, max ${max}\n`,
);
if (result['2xx'] === 0 || result.non2xx > 0 || result.errors > 0) process.exitCode = 1;
