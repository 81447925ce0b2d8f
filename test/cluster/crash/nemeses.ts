/** What befalls a cluster in a campaign, one at a time: machines that die, stop, cannot hear or be heard, are slow, full, or of another time. */
import type { SeededRandom } from '#test/support/random.ts';
import { hasClocks, leaderOf, settled, type HostMachine, type Machines } from './machines.ts';

/** A blow that was struck. */
export interface Blow {
  /** Hosts whose reads may be old while it lasts: they cannot know that another one leads. */
  readonly stale?: readonly HostMachine[];
  /** Undoes it. */
  readonly end: () => Promise<unknown>;
}

export interface Nemesis {
  readonly name: string;
  readonly strike: (machines: Machines, random: SeededRandom) => Promise<Blow>;
}

const HOUR_SECONDS = 3_600;
const LOST_PERCENT = 20;
const SLOW_BITS = '2mbit';

const namesOf = (machines: readonly { readonly name: string }[]): string[] => machines.map(({ name }) => name);

async function followerOf({ hosts }: Machines, random: SeededRandom): Promise<HostMachine> {
  const leader = await leaderOf(hosts);
  return random.pick(hosts.filter((host) => host !== leader));
}

async function killed(host: HostMachine): Promise<Blow> {
  await host.end('SIGKILL');
  return { end: async () => await host.start() };
}

/** Cuts the host that leads off from others, one way or both. */
function cutOff(
  name: string,
  others: (machines: Machines) => readonly { readonly name: string }[],
  direction: 'both' | 'in' | 'out',
): Nemesis {
  const strike = async (machines: Machines): Promise<Blow> => {
    const leader = await leaderOf(machines.hosts);
    const cut = namesOf(others(machines)).filter((other) => other !== leader.name);
    machines.network.cut(leader.name, cut, direction);
    return { stale: [leader], end: async () => machines.network.heal(leader.name) };
  };
  return { name, strike };
}

function fullDisk(name: string, pick: (machines: Machines, random: SeededRandom) => Promise<HostMachine>): Nemesis {
  const strike = async (machines: Machines, random: SeededRandom): Promise<Blow> => {
    const host = await pick(machines, random);
    host.fillDisk(true);
    return { end: async () => host.fillDisk(false) };
  };
  return { name, strike };
}

function otherTime(name: string, seconds: number): Nemesis {
  const strike = async ({ hosts }: Machines): Promise<Blow> => {
    const leader = await leaderOf(hosts);
    leader.setClock(seconds);
    return { end: async () => leader.setClock(0) };
  };
  return { name, strike };
}

const ALL: readonly Nemesis[] = [
  { name: 'the host that leads is killed', strike: async ({ hosts }) => await killed(await leaderOf(hosts)) },
  {
    name: 'a host that follows is killed',
    strike: async (machines, random) => await killed(await followerOf(machines, random)),
  },
  {
    name: 'the host that leads is paused',
    strike: async ({ hosts }) => {
      const leader = await leaderOf(hosts);
      leader.signal('SIGSTOP');
      return { stale: [leader], end: async () => leader.signal('SIGCONT') };
    },
  },
  {
    name: 'a NATS server is killed',
    strike: async ({ nats }, random) => {
      const one = random.pick(nats);
      await one.end('SIGKILL');
      return { end: async () => await one.start() };
    },
  },
  {
    name: 'a NATS server is paused',
    strike: async ({ nats }, random) => {
      const one = random.pick(nats);
      one.signal('SIGSTOP');
      return { end: async () => one.signal('SIGCONT') };
    },
  },
  {
    name: 'two NATS servers are killed',
    strike: async ({ hosts, nats }, random) => {
      const left = random.pick(nats);
      const gone = nats.filter((one) => one !== left);
      for (const one of gone) await one.end('SIGKILL');
      // Whoever led may be followed by another one as they come back, and hear of it last.
      return { stale: hosts, end: async () => await Promise.all(gone.map(async (one) => await one.start())) };
    },
  },
  {
    name: 'a NATS server is cut off',
    strike: async ({ hosts, nats, network }, random) => {
      const one = random.pick(nats);
      network.cut(one.name, namesOf([...hosts, ...nats].filter((other) => other !== one)), 'both');
      return { end: async () => network.heal(one.name) };
    },
  },
  cutOff('the host that leads is cut off from NATS', ({ nats }) => nats, 'both'),
  cutOff('the host that leads hears nothing of NATS', ({ nats }) => nats, 'in'),
  cutOff('NATS hears nothing of the host that leads', ({ nats }) => nats, 'out'),
  cutOff('the host that leads is cut off from the other hosts', ({ hosts }) => hosts, 'both'),
  cutOff('the host that leads is cut off from all machines', ({ hosts, nats }) => [...hosts, ...nats], 'both'),
  {
    name: 'a fifth of all packets of the host that leads is lost',
    strike: async ({ hosts, nats, network }) => {
      const leader = await leaderOf(hosts);
      const others = namesOf([...hosts, ...nats].filter((other) => other !== leader));
      network.cut(leader.name, others, 'both', LOST_PERCENT);
      return { stale: [leader], end: async () => network.heal(leader.name) };
    },
  },
  {
    name: 'the link of the host that leads is slow',
    strike: async ({ hosts, network }) => {
      const { name } = await leaderOf(hosts);
      network.slow(name, SLOW_BITS);
      return { end: async () => network.slow(name) };
    },
  },
  fullDisk('the disk of the host that leads is full', async ({ hosts }) => await leaderOf(hosts)),
  fullDisk('the disk of a host that follows is full', followerOf),
  {
    name: 'the hosts are restarted in turn',
    strike: async ({ hosts }) => {
      for (const host of hosts) {
        await host.end('SIGTERM');
        await host.start();
        await settled(hosts);
      }
      return { end: async () => undefined };
    },
  },
  {
    name: 'the NATS servers are restarted in turn',
    strike: async ({ hosts, nats }) => {
      for (const one of nats) {
        await one.end('SIGTERM');
        await one.start();
        await settled(hosts);
      }
      return { end: async () => undefined };
    },
  },
];

const CLOCKS: readonly Nemesis[] = [
  otherTime('the clock of the host that leads is an hour ahead', HOUR_SECONDS),
  otherTime('the clock of the host that leads is an hour behind', -HOUR_SECONDS),
];

/** Everything that can befall a cluster here. */
export const NEMESES: readonly Nemesis[] = hasClocks ? [...ALL, ...CLOCKS] : ALL;
