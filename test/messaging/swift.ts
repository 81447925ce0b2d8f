/** A real object store on loopback over a folder of its own: OpenStack Swift with its S3 API. */
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CreateBucketCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
} from '@aws-sdk/client-s3';
import { freePort, RealProgram } from '#test/support/real-program.ts';
import { until } from '#test/support/waiting.ts';

export const BUCKET = 'parley';
export const KEY_ID = 'parley:store';
/** Loading its four parts takes two seconds of a processor, which others may have. */
const STARTED_MILLIS = 60_000;

export const SECRET = 'heron-keeps-the-store';

/** The interpreter of Debian, whose packages Swift is among. */
const PYTHON = '/usr/bin/python3';

export interface Swift {
  readonly endpoint: string;
  /** A client of its own, to look into the bucket. */
  readonly client: S3Client;
  /** Keys of the objects in the bucket. */
  objects(): Promise<string[]>;
  bytes(key: string): Promise<Buffer>;
  /** Uploads in parts that were never ended. */
  unfinished(): Promise<number>;
  /** Whether any file of the store holds these bytes. */
  holds(needle: Buffer): boolean;
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** Makes the rings of one disk and serves all four parts from one process, as their own programs do from four. */
const SERVE = `
import sys
import eventlet
from swift.common import utils
folder, ports = sys.argv[1], [int(port) for port in sys.argv[2:]]
utils.SWIFT_CONF_FILE = folder + '/swift.conf'
from swift.common import wsgi
from swift.common.ring import RingBuilder
from swift.common.storage_policy import reload_storage_policies
eventlet.hubs.use_hub(utils.get_hub())
utils.eventlet_monkey_patch()
utils.validate_hash_conf()
reload_storage_policies()
parts = list(zip(('account', 'container', 'object', 'proxy'), ports))
for name, port in parts[:3]:
    builder = RingBuilder(1, 1, 0)
    builder.add_dev({'region': 1, 'zone': 1, 'ip': '127.0.0.1', 'port': port, 'device': 'disk', 'weight': 1.0,
                     'replication_ip': '127.0.0.1', 'replication_port': port, 'meta': ''})
    builder.rebalance()
    builder.get_ring().save(folder + '/' + name + '.ring.gz')
for name, port in parts:
    app = wsgi.loadapp(folder + '/' + name + '.conf', global_conf={'log_name': name})
    socket = eventlet.listen(('127.0.0.1', port))
    eventlet.spawn_n(eventlet.wsgi.server, socket, app, utils.NullLogger(), protocol=wsgi.SwiftHttpProtocol)
eventlet.event.Event().wait()
`;

const CONFIGURATION = `
[swift-hash]
swift_hash_path_suffix = tests
swift_hash_path_prefix = tests
`;

const head = (folder: string) => `
[DEFAULT]
swift_dir = ${folder}
devices = ${folder}/devices
mount_check = false
`;

const storageOf = (part: string) => `
[pipeline:main]
pipeline = ${part}-server
[app:${part}-server]
use = egg:swift#${part}
`;

/** Signing in wants the cache to be there; that it answers, nobody needs. */
const PROXY = `
[pipeline:main]
pipeline = catch_errors gatekeeper cache listing_formats s3api tempauth copy dlo slo versioned_writes proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_parley_store = ${SECRET} .admin
${['catch_errors', 'gatekeeper', 'listing_formats', 'copy', 'dlo', 'slo', 'versioned_writes']
  .map((name) => `[filter:${name}]\nuse = egg:swift#${name}`)
  .join('\n')}
`;

export async function startSwift(context: { after(end: () => Promise<void>): void }): Promise<Swift> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-swift-'));
  await mkdir(join(folder, 'devices/disk'), { recursive: true });
  const ports = [await freePort(), await freePort(), await freePort(), await freePort()];
  await writeFile(join(folder, 'swift.conf'), CONFIGURATION);
  for (const part of ['account', 'container', 'object']) {
    await writeFile(join(folder, `${part}.conf`), head(folder) + storageOf(part));
  }
  await writeFile(join(folder, 'proxy.conf'), head(folder) + PROXY);
  const endpoint = `http://127.0.0.1:${ports.at(-1)}`;
  const client = new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    maxAttempts: 1,
    credentials: { accessKeyId: KEY_ID, secretAccessKey: SECRET },
  });
  let program: RealProgram | undefined;
  const start = async () => {
    const started = new RealProgram(PYTHON, ['-c', SERVE, folder, ...ports.map(String)]);
    program = started;
    await until(
      async () => {
        started.assertRuns();
        return await client.send(new CreateBucketCommand({ Bucket: BUCKET })).then(
          () => true,
          (error: unknown) => ((error as Error).name === 'BucketAlreadyOwnedByYou' ? true : undefined),
        );
      },
      'Swift to answer',
      STARTED_MILLIS,
    );
  };
  const stop = async () => await program?.stop();
  context.after(async () => {
    client.destroy();
    await stop();
    await rm(folder, { recursive: true, force: true });
  });
  await start();
  return {
    endpoint,
    client,
    start,
    stop,
    objects: async () => {
      const { Contents: listed = [] } = await client.send(new ListObjectsV2Command({ Bucket: BUCKET }));
      return listed.map(({ Key: key = '' }) => key);
    },
    bytes: async (key) => {
      const { Body: body } = await client.send(new GetObjectCommand({ Bucket: BUCKET, Key: key }));
      return Buffer.from((await body?.transformToByteArray()) ?? []);
    },
    unfinished: async () => {
      const { Uploads: uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: BUCKET }));
      return uploads.length;
    },
    holds: (needle) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' }).some((name) => {
        const path = join(folder, name);
        return statSync(path).isFile() && readFileSync(path).includes(needle);
      }),
  };
}
