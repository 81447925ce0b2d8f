/**
 * Machines of a network that is the campaign's own: a namespace each, joined by a bridge, within namespaces of the campaign
 * that end with it. Nothing of it is seen outside, and nothing has to be cleaned up.
 */
import { execFileSync, spawnSync } from 'node:child_process';

const BRIDGE = 'br0';
const PREFIX = '10.77.0';
/** Where the campaign itself stands. */
const OWN_ADDRESS = `${PREFIX}.1`;
const FIRST_ADDRESS = 11;
const TABLE = 'campaign';

/** How a process is begun in namespaces of its own, which end with it: network, mounts and processes. */
export const OWN_NAMESPACES = [
  'unshare',
  ...['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'],
] as const;

/** What a campaign cannot be run for here; undefined where it can. */
export function whyNot(): string | undefined {
  for (const [program, argument] of [
    ['nats-server', '--version'],
    ['ip', '-V'],
    ['nft', '--version'],
    ['tc', '-V'],
  ] as const) {
    if (spawnSync(program, [argument]).error !== undefined) return `${program} is not installed`;
  }
  const [program, ...options] = OWN_NAMESPACES;
  return spawnSync(program, [...options, 'true']).status === 0 ? undefined : 'this user may not make namespaces';
}

/** Which way packets are lost. */
export type Direction = 'both' | 'in' | 'out';

export class Network {
  readonly #machines = new Map<string, string>();

  /** Makes the bridge; to be called within namespaces of its own. */
  constructor() {
    run('mount', '--make-rprivate', '/');
    run('mkdir', '-p', '/run/netns');
    run('mount', '-t', 'tmpfs', 'none', '/run/netns');
    run('ip', 'link', 'set', 'lo', 'up');
    run('ip', 'link', 'add', BRIDGE, 'type', 'bridge');
    run('ip', 'addr', 'add', `${OWN_ADDRESS}/24`, 'dev', BRIDGE);
    run('ip', 'link', 'set', BRIDGE, 'up');
  }

  /** Adds a machine; answers its address. */
  add(name: string): string {
    const address = `${PREFIX}.${FIRST_ADDRESS + this.#machines.size}`;
    run('ip', 'netns', 'add', name);
    run('ip', 'link', 'add', linkOf(name), 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
    run('ip', 'link', 'set', linkOf(name), 'master', BRIDGE, 'up');
    run('ip', '-n', name, 'addr', 'add', `${address}/24`, 'dev', 'eth0');
    for (const link of ['eth0', 'lo']) run('ip', '-n', name, 'link', 'set', link, 'up');
    this.#machines.set(name, address);
    return address;
  }

  /** What a program is begun with in order to run on a machine. */
  static on(name: string): readonly [string, ...string[]] {
    return ['ip', 'netns', 'exec', name];
  }

  /** Loses what comes from others to a machine, or goes to them, for a share of the packets (of a hundred) or all of them. */
  cut(name: string, others: readonly string[], direction: Direction, percent = 100): void {
    const addresses = others.map((other) => this.#machines.get(other) ?? OWN_ADDRESS).join(', ');
    const share = percent === 100 ? '' : `numgen random mod 100 < ${percent}`;
    const hooks = [
      ['in', 'input', 'saddr'],
      ['out', 'output', 'daddr'],
    ].filter(([way]) => direction === 'both' || direction === way);
    const chains = hooks.map(
      ([, hook, field]) =>
        `chain ${hook} {\ntype filter hook ${hook} priority 0;\nip ${field} { ${addresses} } ${share} drop\n}\n`,
    );
    this.heal(name);
    const table = `table ip ${TABLE} {\n${chains.join('')}}\n`;
    execFileSync('ip', ['netns', 'exec', name, 'nft', '-f', '-'], { input: table });
  }

  /** Ends what was cut at a machine. */
  heal(name: string): void {
    spawnSync('ip', ['netns', 'exec', name, 'nft', 'delete', 'table', 'ip', TABLE], { stdio: 'ignore' });
  }

  /** Has a machine send so many bits a second at most; as many as it can again without. */
  slow(name: string, bits?: string): void {
    const at = ['netns', 'exec', name, 'tc', 'qdisc'];
    if (bits === undefined) run('ip', ...at, 'del', 'dev', 'eth0', 'root');
    else run('ip', ...at, 'add', 'dev', 'eth0', 'root', 'tbf', 'rate', bits, 'burst', '16kbit', 'latency', '400ms');
  }
}

/** Names of links have fifteen characters at most. */
function linkOf(name: string): string {
  return `v-${name}`;
}

function run(program: string, ...args: string[]): void {
  execFileSync(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
