/**
 * What `docker compose up` makes of a file, as far as namespaces alone go, where there is no Docker: each service has a root of its
 * own that nothing may write to but its volumes, its addresses in the networks it is in, names for the others, and its user,
 * command, environment, secrets and health. Programs come from this machine in the place of images. To be called within
 * namespaces of its own, with which everything ends; nothing may be removed in there, where this machine’s own folders are mounted.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { RealProgram } from '#test/support/real-program.ts';
import { until } from '#test/support/waiting.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** How long a service may take to be healthy, on a machine that others load. */
const HEALTHY_MILLIS = 180_000;
/** Of networks that name no subnet; Docker takes some, too. */
const OTHER_PREFIX = '172.30.99';
const FIRST_ADDRESS = 11;

/** A service as `docker-compose config` prints it. */
export interface ComposeService {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly secrets?: readonly { readonly source: string }[];
  readonly networks: Readonly<
    Record<string, { readonly ipv4_address?: string; readonly aliases?: readonly string[] } | null>
  >;
  readonly user?: string;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly tmpfs?: readonly string[];
  readonly stop_grace_period?: string;
  readonly ulimits?: { readonly nofile: number };
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
}

export interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly networks: Readonly<
    Record<string, { readonly internal?: boolean; readonly ipam?: { readonly config: readonly { subnet: string }[] } }>
  >;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

/** What `docker-compose config` makes of the compose file in a folder, with the `.env` beside it. */
export function readCompose(folder: string): ComposeFile {
  const { status, stderr, stdout } = spawnSync('docker-compose', ['config'], { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(stderr);
  return parse(stdout) as ComposeFile;
}

/** What an image brings. */
interface Image {
  readonly user: number;
  readonly folder: string;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly health: readonly string[] | undefined;
  /** Folders that are the user's own, of which new volumes are copies. */
  readonly owned: readonly string[];
}

/** The images that are known here: Parley's by its Dockerfile, of the others what their makers say. */
function imageOf(name: string): Image {
  const none = { folder: '/', command: [], environment: {}, health: undefined, owned: [] };
  if (name.startsWith('nats:')) return { ...none, user: 0 };
  // Its entry point has it run as a master in the foreground.
  if (name.startsWith('haproxy:')) return { ...none, user: 99 };
  if (name !== 'parley') throw new Error(`What is in ${name}?`);
  const file = readFileSync(join(ROOT, 'Dockerfile'), 'utf8').replaceAll('\\\n', ' ');
  const last = (pattern: RegExp) => [...file.matchAll(pattern)].at(-1)?.[1] ?? '';
  if (last(/^USER (\w+)$/gm) !== 'node') throw new Error('The image has another user.');
  const pairs = [...last(/^ENV (.+)$/gm).matchAll(/(\w+)=(\S+)/g)];
  return {
    user: 1000,
    folder: last(/^WORKDIR (\S+)$/gm),
    command: JSON.parse(last(/^CMD (\[.+\])$/gm)) as string[],
    environment: Object.fromEntries(pairs.map(([, key = '', value = '']) => [key, value])),
    health: JSON.parse(last(/^HEALTHCHECK .*CMD (\[.+\])$/gm)) as string[],
    owned: last(/for folder in ([^;]+); do mkdir "\$folder" && chown/g).split(' '),
  };
}

export class Composition {
  readonly file: ComposeFile;
  readonly #folder: string;
  readonly #images: ReadonlyMap<string, Image>;
  readonly #addresses = new Map<string, Map<string, string>>();
  readonly #programs = new Map<string, RealProgram>();

  private constructor(file: ComposeFile, folder: string) {
    [this.file, this.#folder] = [file, folder];
    const images = Object.entries(file.services).map(([name, { image, user }]) => {
      const brought = imageOf(image);
      return [name, { ...brought, user: Number(user ?? brought.user) }] as const;
    });
    this.#images = new Map(images);
  }

  /** Starts all services, each when those that it depends on are as it wants them. `folder` is empty, for roots and volumes. */
  static async up(file: ComposeFile, folder: string): Promise<Composition> {
    const composition = new Composition(file, folder);
    composition.#network();
    for (const name of Object.keys(file.services)) composition.#makeRoot(name);
    const waiting = new Set(Object.keys(file.services));
    while (waiting.size > 0) {
      const ready = [...waiting].find((name) =>
        Object.keys(file.services[name]?.depends_on ?? {}).every((other) => !waiting.has(other)),
      );
      if (ready === undefined) throw new Error(`${[...waiting].join(' and ')} wait for each other.`);
      waiting.delete(ready);
      for (const [other, { condition }] of Object.entries(file.services[ready]?.depends_on ?? {})) {
        if (condition === 'service_healthy') await composition.untilHealthy(other);
      }
      composition.start(ready);
    }
    return composition;
  }

  /** What a service wrote since it was started last. */
  said(name: string): string {
    return this.#programs.get(name)?.said ?? '';
  }

  /** Its address in a network. */
  addressOf(name: string, network: string): string {
    return this.#addresses.get(name)?.get(network) ?? '';
  }

  start(name: string): void {
    const { command } = this.file.services[name] as ComposeService;
    const [program, ...args] = command ?? (this.#images.get(name) as Image).command;
    const more = program === 'haproxy' ? ['-W', '-db'] : [];
    const [outer = '', ...inner] = this.#enter(name, [program as string, ...more, ...args]);
    this.#programs.set(name, new RealProgram(outer, inner));
  }

  async kill(name: string): Promise<void> {
    await this.#programs.get(name)?.stop('SIGKILL');
  }

  /** Ends everything as `docker compose down` does. @throws Error where a service takes longer than it says. */
  async down(): Promise<void> {
    for (const name of [...this.#programs.keys()].toReversed()) {
      await this.#programs.get(name)?.stop();
    }
  }

  /** Runs a program in a service that runs, as `docker compose exec` does; answers what it printed. */
  exec(name: string, command: readonly string[], input = ''): string {
    const [outer = '', ...inner] = this.#enter(name, command);
    return execFileSync(outer, inner, { input, encoding: 'utf8' });
  }

  async untilHealthy(name: string): Promise<void> {
    const [, ...own] = this.file.services[name]?.healthcheck?.test ?? [];
    const command = own.length > 0 ? own : (this.#images.get(name)?.health ?? []);
    const [outer = '', ...inner] = this.#enter(name, command);
    const isHealthy = () => {
      this.#programs.get(name)?.assertRuns();
      return spawnSync(outer, inner).status === 0;
    };
    await until(isHealthy, `${name} to be healthy`, HEALTHY_MILLIS).catch((error: unknown) => {
      throw new Error(`${(error as Error).message} It said: ${this.said(name)}`, { cause: error });
    });
  }

  /** The networks as bridges, and each service as a namespace with a link to each that it is in. */
  #network(): void {
    run('mount', '--make-rprivate', '/');
    mkdirSync('/run/netns', { recursive: true });
    run('mount', '-t', 'tmpfs', 'none', '/run/netns');
    run('ip', 'link', 'set', 'lo', 'up');
    const names = Object.keys(this.file.services);
    for (const name of names) {
      run('ip', 'netns', 'add', name);
      run('ip', '-n', name, 'link', 'set', 'lo', 'up');
      // As Docker has it: ports below 1024 are open to every user of a container.
      run('ip', 'netns', 'exec', name, 'sysctl', '-qw', 'net.ipv4.ip_unprivileged_port_start=0');
      this.#addresses.set(name, new Map());
    }
    for (const [at, [network, { internal, ipam }]] of Object.entries(this.file.networks).entries()) {
      const [subnet = `${OTHER_PREFIX}.0/24`] = ipam?.config.map((one) => one.subnet) ?? [];
      const [prefix, bits] = [subnet.replace(/\.\d+\/\d+$/, ''), subnet.split('/')[1]];
      run('ip', 'link', 'add', `br${at}`, 'type', 'bridge');
      run('ip', 'link', 'set', `br${at}`, 'up');
      // Of a network that leads nowhere else the machine itself has no address here.
      if (internal !== true) run('ip', 'addr', 'add', `${prefix}.1/${bits}`, 'dev', `br${at}`);
      names.forEach((name, number) => {
        const place = this.file.services[name]?.networks[network];
        if (place === undefined) return;
        const address = place?.ipv4_address ?? `${prefix}.${FIRST_ADDRESS + number}`;
        const link = `v${at}-${number}`;
        run('ip', 'link', 'add', link, 'type', 'veth', 'peer', 'name', `eth${at}`, 'netns', name);
        run('ip', 'link', 'set', link, 'master', `br${at}`, 'up');
        run('ip', '-n', name, 'addr', 'add', `${address}/${bits}`, 'dev', `eth${at}`);
        run('ip', '-n', name, 'link', 'set', `eth${at}`, 'up');
        this.#addresses.get(name)?.set(network, address);
      });
    }
  }

  /** What a service sees below `/`. */
  #makeRoot(name: string): void {
    const service = this.file.services[name] as ComposeService;
    const image = this.#images.get(name) as Image;
    const root = join(this.#folder, 'roots', name);
    mkdirSync(root, { recursive: true });
    run('mount', '-t', 'tmpfs', name, root);
    for (const system of ['bin', 'sbin', 'lib', 'lib64', 'usr', 'dev', 'proc', 'etc/ssl']) {
      if (!existsSync(join('/', system))) continue;
      const isLink = lstatSync(join('/', system)).isSymbolicLink();
      if (isLink) symlinkSync(readlinkSync(join('/', system)), join(root, system));
      // Read-only, whatever anybody does below this root, by mistake as well.
      else bind(join('/', system), join(root, system), true);
    }
    // Names as Docker answers them: of those who are in a network with this one.
    const mine = [...(this.#addresses.get(name)?.keys() ?? [])];
    const hosts = Object.keys(this.file.services).flatMap((other) =>
      mine
        .filter((network) => this.addressOf(other, network) !== '')
        .map((network) => {
          const aliases = this.file.services[other]?.networks[network]?.aliases ?? [];
          return [this.addressOf(other, network), other, ...aliases].join(' ');
        }),
    );
    mkdirSync(join(root, 'etc'), { recursive: true });
    writeFileSync(join(root, 'etc/hosts'), `127.0.0.1 localhost\n${hosts.join('\n')}\n`);
    writeFileSync(join(root, 'etc/nsswitch.conf'), 'hosts: files\n');
    if (image.folder !== '/') bind(ROOT, join(root, image.folder), true);
    for (const volume of service.volumes ?? []) this.#mountVolume(root, volume, image);
    for (const { source } of service.secrets ?? []) {
      bind(this.file.secrets[source]?.file ?? '', join(root, 'run/secrets', source), true);
    }
    for (const path of service.tmpfs ?? []) {
      mkdirSync(join(root, path), { recursive: true });
      run('mount', '-t', 'tmpfs', '-o', 'mode=1777', 'tmpfs', join(root, path));
    }
    if (service.read_only === true) run('mount', '-o', 'remount,ro', root);
  }

  #mountVolume(root: string, volume: string, { owned, user }: Image): void {
    const [from = '', to = '', mode] = volume.split(':');
    if (from.startsWith('/')) return bind(from, join(root, to), mode === 'ro');
    const folder = join(this.#folder, 'volumes', from);
    const isNew = mkdirSync(folder, { recursive: true }) !== undefined;
    if (isNew && owned.includes(to)) {
      chownSync(folder, user, user);
      chmodSync(folder, 0o700);
    }
    bind(folder, join(root, to));
  }

  /** How a program is begun in a service. */
  #enter(name: string, command: readonly string[]): string[] {
    const { cap_drop = [], environment = {}, security_opt = [] } = this.file.services[name] as ComposeService;
    const { environment: brought, folder, user } = this.#images.get(name) as Image;
    const path = `${folder}/node_modules/.bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`;
    const all = Object.entries({ PATH: path, ...brought, ...environment }).map(([key, value]) => `${key}=${value}`);
    return [
      ...['ip', 'netns', 'exec', name, 'chroot', join(this.#folder, 'roots', name)],
      ...['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups'],
      ...(cap_drop.includes('ALL') ? ['--bounding-set=-all', '--inh-caps=-all'] : []),
      ...(security_opt.includes('no-new-privileges:true') ? ['--no-new-privs'] : []),
      ...['env', '-i', '-C', folder, ...all, ...command],
    ];
  }
}

function bind(from: string, to: string, isReadOnly = false): void {
  if (statSync(from).isDirectory()) mkdirSync(to, { recursive: true });
  else {
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, '');
  }
  run('mount', '--rbind', from, to);
  if (isReadOnly) run('mount', '-o', 'remount,ro,bind', to);
}

function run(program: string, ...args: string[]): void {
  execFileSync(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
