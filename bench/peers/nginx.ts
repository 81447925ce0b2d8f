/** nginx of the distribution as a peer for files: it serves a folder, and takes WebDAV's PUT where its module is there. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const TRIES = 200;
const TRY_MILLIS = 25;

export interface Nginx {
  readonly port: number;
  /** Whether it takes uploads. */
  readonly hasPut: boolean;
  /** Where these lie. */
  readonly files: string;
  stop(): Promise<void>;
}

/** Whether there is one on this machine. */
export function findNginx(): { readonly hasPut: boolean } | undefined {
  const { status, stderr } = spawnSync('nginx', ['-V'], { encoding: 'utf8' });
  return status === 0 ? { hasPut: stderr.includes('--with-http_dav_module') } : undefined;
}

/**
 * Starts it on these cores with so many workers, over a new folder under `root`; where it takes no uploads it serves what
 * lies in `root`.
 */
export async function startNginx(root: string, cores: readonly number[], workers: number): Promise<Nginx> {
  const folder = mkdtempSync(join(root, 'nginx-'));
  for (const name of ['files', 'incoming', 'temp']) mkdirSync(join(folder, name));
  const hasPut = findNginx()?.hasPut === true;
  const port = await freePort();
  writeFileSync(
    join(folder, 'nginx.conf'),
    configuration(folder, hasPut ? join(folder, 'files') : root, port, workers),
  );
  const command = ['nginx', '-p', folder, '-c', join(folder, 'nginx.conf'), '-e', join(folder, 'error.log')];
  const [program = '', ...rest] = cores.length === 0 ? command : ['taskset', '--cpu-list', cores.join(','), ...command];
  const child = spawn(program, rest, { stdio: 'ignore' });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  await listening(port);
  return {
    port,
    hasPut,
    files: join(folder, 'files'),
    stop: async () => {
      process.off('exit', kill);
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** What a careful administrator sets for large files: the kernel sends them, and nothing is buffered twice. */
function configuration(folder: string, files: string, port: number, workers: number): string {
  const put = findNginx()?.hasPut === true ? 'dav_methods PUT; create_full_put_path on;' : '';
  // Started by root its workers would be somebody who may not read the folder of a bench.
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  return `daemon off; ${user} worker_processes ${workers}; pid ${folder}/nginx.pid;
events { worker_connections 512; }
http {
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
  client_max_body_size 4g; client_body_temp_path ${folder}/incoming;
  proxy_temp_path ${folder}/temp; fastcgi_temp_path ${folder}/temp; uwsgi_temp_path ${folder}/temp; scgi_temp_path ${folder}/temp;
  server { listen 127.0.0.1:${port}; root ${files}; ${put} }
}
`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  return port;
}

async function listening(port: number): Promise<void> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const socket = connect(port, '127.0.0.1');
    // oxlint-disable-next-line no-await-in-loop -- It is tried until it answers.
    const isOpen = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (isOpen) return;
    // oxlint-disable-next-line no-await-in-loop -- And not at once again.
    await sleep(TRY_MILLIS);
  }
  throw new Error('nginx does not listen.');
}
