/** The generator process of `attacks.ts`. */
import { Agent, request as send } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { AttackOrder, AttackResult, HostileRequest } from './attacks.ts';
import { answerAsks } from './child.ts';

/** The rest of an answer beyond this is read and not kept: an id stands in the beginning. */
const KEPT_BYTES = 16_384;

/** The others come from 127.0.0.x: limits that go by addresses and networks do not take them for one. */
const ADDRESS = '127.66.6.6';

let number = 0;

async function run({ connections, requests, seconds }: AttackOrder): Promise<AttackResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const statuses: Record<number, number> = {};
  const end = performance.now() + seconds * 1_000;
  const over = AbortSignal.timeout(Math.ceil(seconds * 1_000));
  let bytes = 0;
  const attack = async (): Promise<void> => {
    let id = '';
    while (performance.now() < end) {
      for (const one of requests) {
        // oxlint-disable-next-line no-await-in-loop -- One after the other is what a connection does.
        const answer = await ask(one, id, agent, over);
        statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
        bytes += answer.bytes;
        id = /"id":"(\w+)"/.exec(answer.text)?.[1] ?? id;
        if (answer.status === 0) return;
      }
    }
  };
  await Promise.all(Array.from({ length: connections }, attack));
  agent.destroy();
  return { statuses, bytes };
}

interface Answered {
  readonly status: number;
  readonly bytes: number;
  readonly text: string;
}

async function ask(one: HostileRequest, id: string, agent: Agent, signal: AbortSignal): Promise<Answered> {
  number += 1;
  const fill = (text: string) => text.replaceAll('{n}', String(number)).replaceAll('{id}', id);
  const text = one.body === undefined ? undefined : fill(one.body);
  const body = text === undefined ? undefined : one.gzip === true ? gzipped(text) : Buffer.from(text);
  const headers = {
    ...one.headers,
    ...(one.gzip === true ? { 'content-encoding': 'gzip' } : {}),
    ...(body === undefined ? {} : { 'content-length': String(body.length) }),
  };
  return await new Promise((resolve) => {
    const nothing = () => resolve({ status: 0, bytes: 0, text: '' });
    const sent = send(
      fill(one.url),
      { agent, localAddress: ADDRESS, method: one.method, headers, signal },
      (answer) => {
        let bytes = 0;
        let kept = '';
        answer.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes <= KEPT_BYTES) kept += chunk.toString('latin1');
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, bytes, text: kept }));
        answer.on('error', nothing);
      },
    );
    sent.on('error', nothing);
    sent.end(body);
  });
}

/** The same text is compressed once. */
const compressed = new Map<string, Buffer>();

function gzipped(text: string): Buffer {
  const known = compressed.get(text) ?? gzipSync(text);
  compressed.set(text, known);
  return known;
}

answerAsks({ run });
