/**
 * Which messages of a log's subject count, over a real NATS server: whatever else comes to stand in the stream, of those behind one
 * message the first counts for whoever writes and for whoever reads (CLU-02).
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { headers, type MsgHdrs } from '@nats-io/transport-node';
import { encodeBatch, type EncodedBatch } from '#storage/log/commit-log.ts';
import { LogUnavailable } from '#storage/log/replication.ts';
import { StreamAppender } from '#storage/stream/stream-appender.ts';
import { connectToStream, shareConnection, type StreamConnection } from '#storage/stream/stream-connection.ts';
import {
  allLogs,
  BEHIND_HEADER,
  ID_HEADER,
  logSubject,
  streamName,
  TERM_HEADER,
} from '#storage/stream/stream-names.ts';
import { Fenced } from '#storage/stream/stream-place.ts';
import { lookBehind } from '#storage/stream/subject-order.ts';
import { SubjectWriter } from '#storage/stream/subject-writer.ts';
import { TestNats } from '#test/support/nats.ts';
import { unlessInstalled } from '#test/support/real-program.ts';
import { deadline, PATIENCE_MILLIS } from '#test/support/waiting.ts';

const skip = unlessInstalled('nats-server', ['--version']);
const NAME = 'order';
const START = { batch: 0, sequence: 0 };

describe('the order of a subject', { skip }, () => {
  let nats: TestNats;
  let connection: StreamConnection;
  let logs = 0;

  before(async () => {
    nats = await TestNats.start(1);
    connection = await connectToStream({
      urls: nats.urls.split(','),
      authoritiesFile: undefined,
      credentialsFile: undefined,
    });
    await connection.manager.streams.add({ name: streamName(NAME), subjects: [allLogs(NAME)] });
  });

  after(async () => {
    await connection?.nats.close();
    await nats?.stop();
  });

  const batchOf = (text: string): EncodedBatch =>
    encodeBatch([{ table: 'texts', key: Buffer.from('key'), value: Buffer.from(text) }]);
  const nextLog = (): string => `lane-${(logs += 1)}`;

  /** A message as it stands in the stream, and what it says of itself. */
  async function read(seq: number): Promise<{ data: Uint8Array; header: MsgHdrs }> {
    const message = await connection.manager.streams.getMessage(streamName(NAME), { seq });
    assert.ok(message !== null);
    return message;
  }

  /** Puts a message into the stream past the server's own check, as servers before 2.9.21 let through what comes at once. */
  async function slipIn(log: string, like: number, changes: Readonly<Record<string, string>> = {}): Promise<number> {
    const { data, header } = await read(like);
    const told = headers();
    for (const [name, [value = '']] of header) if (name.startsWith('Parley-')) told.set(name, value);
    for (const [name, value] of Object.entries(changes)) told.set(name, value);
    return (await connection.stream.publish(logSubject(NAME, log), data, { headers: told })).seq;
  }

  it('CLU-01 the first batch of a log that comes when the process stops is refused where NATS is away, and waits for nothing', async () => {
    const away = await TestNats.start(1);
    await away.kill(0);
    const files = { authoritiesFile: undefined, credentialsFile: undefined };
    const place = { name: NAME, urls: away.urls.split(','), ...files, cluster: '0'.repeat(16), replicas: 1, term: 1 };
    const shared = shareConnection(place);
    const appender = new StreamAppender(place, nextLog());
    appender.begin(undefined);
    appender.giveUp();
    await assert.rejects(deadline(appender.append(batchOf('late')), PATIENCE_MILLIS, 'the batch'), LogUnavailable);
    await appender.close();
    // A connection that was never there is tried until it is.
    away.run(0);
    await shared.opened;
    await shared.release();
    await away.stop();
  });

  it('CLU-02 a message that came twice counts once, and what follows comes behind the first', async () => {
    const log = nextLog();
    const writer = new SubjectWriter({ name: NAME, term: 1 }, log, START);
    const first = await writer.write(connection, batchOf('first'));
    const twice = await slipIn(log, first.sequence);
    assert.ok(twice > first.sequence);
    const second = await writer.write(connection, batchOf('second'));
    assert.deepEqual(second, { batch: 2, sequence: twice + 1 });
    assert.equal((await read(second.sequence)).header.get(BEHIND_HEADER), String(first.sequence));
    const { next } = await lookBehind(connection, NAME, log, first.sequence);
    assert.equal(next?.sequence, second.sequence);
    // Whoever comes to write and knows of the first alone comes behind the second.
    const late = new SubjectWriter({ name: NAME, term: 2 }, log, first);
    await assert.rejects(late.write(connection, batchOf('late')), Fenced);
  });

  it('CLU-02 of two hosts that write behind one message the second is shut out, also where the server took both', async () => {
    const log = nextLog();
    const old = new SubjectWriter({ name: NAME, term: 1 }, log, START);
    const known = await old.write(connection, batchOf('known to both'));
    const mine = await old.write(connection, batchOf('of the host that led before'));
    // The other one's begins its term behind what both knew, and comes second.
    const other = { [TERM_HEADER]: '2', [ID_HEADER]: 'of-another-host', [BEHIND_HEADER]: String(known.sequence) };
    await slipIn(log, mine.sequence, other);
    const { next } = await lookBehind(connection, NAME, log, known.sequence);
    assert.equal(next?.term, 1);
    assert.deepEqual(await old.write(connection, batchOf('goes on')), { batch: 3, sequence: mine.sequence + 2 });
  });

  it('CLU-02 a host whose message comes second acknowledges nothing', async () => {
    const log = nextLog();
    const old = new SubjectWriter({ name: NAME, term: 1 }, log, START);
    const known = await old.write(connection, batchOf('known to both'));
    const other = { [TERM_HEADER]: '2', [ID_HEADER]: 'of-another-host', [BEHIND_HEADER]: String(known.sequence) };
    const won = await slipIn(log, known.sequence, other);
    // The server says that it took the old one's, which does not count any more.
    const taking = {
      ...connection,
      stream: Object.assign(Object.create(connection.stream) as typeof connection.stream, {
        publish: async (subject: string, data: Uint8Array, options: { headers: MsgHdrs }) =>
          await connection.stream.publish(subject, data, { headers: options.headers }),
      }),
    };
    await assert.rejects(old.write(taking, batchOf('too late')), Fenced);
    assert.equal((await lookBehind(connection, NAME, log, known.sequence)).next?.sequence, won);
  });
});
