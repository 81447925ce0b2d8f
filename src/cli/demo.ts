/** The program `npm run demo`: a throw-away server, people who talk, a restart in the middle, and what each side saw. */
import { connectToServer, type ControlConnection } from './control-client.ts';
import { type Credentials, Witness } from './demo-witness.ts';
import { ThrowawayServer } from './throwaway-server.ts';

/** The whole demo takes some eight seconds; one that hangs says so and cleans up. */
const DEMO_MILLIS_MAX = 30_000;
const ROOM_SIZE = 200;
/** Of the room's people, those who are connected besides the three who talk. */
const LISTENERS = 20;
const NAMES = ['alice', 'bob', 'carol'] as const;
const THUMB = '👍';

class Demo {
  readonly #server: ThrowawayServer;
  readonly #witnesses: Witness[] = [];

  constructor(server: ThrowawayServer) {
    this.#server = server;
  }

  async run(): Promise<void> {
    const [alice, bob, carol, room] = await this.#gather();
    const direct = (await alice.client.createDirect('bob')).id;
    await this.#talkInPrivate(alice, bob, direct);
    await this.#talkInRoom(alice, carol, room);
    await this.#restart(alice, bob, direct, room);
    this.#compare(room);
    for (const witness of [alice, bob, carol]) printSide(witness);
  }

  close(): void {
    for (const { client } of this.#witnesses) client.close();
  }

  /** People, their room, and a client for some of them. */
  async #gather(): Promise<[alice: Witness, bob: Witness, carol: Witness, room: string]> {
    const connection = await connectToServer(this.#server.folder);
    if (connection === undefined) throw new Error('The control socket does not answer.');
    try {
      const named = await addPeople(connection);
      const size = { people: ROOM_SIZE - named.length, rooms: 1, members: ROOM_SIZE - named.length };
      const { people, rooms } = await connection.call('seed', size);
      const room = rooms[0]?.id ?? '';
      say(`Added ${people.length + named.length} people over the control socket, and a room.`);
      const all = [...named, ...people.slice(0, LISTENERS)];
      this.#witnesses.push(...(await Promise.all(all.map((person) => Witness.signIn(this.#server.urls, person)))));
      await Promise.all(this.#witnesses.map(({ client }) => client.caughtUp()));
      say(`Signed ${all.length} of them in; each has a socket on one of four shards.`);
      const owner = this.#witnesses[named.length] as Witness;
      const body = { participants: [...NAMES] };
      const record = await owner.client.call('addParticipants', { params: { id: room }, body });
      say(`${owner.name} added ${NAMES.join(', ')} to the room: ${record.participant_count} people are in it.`);
      const [alice, bob, carol] = this.#witnesses as [Witness, Witness, Witness];
      return [alice, bob, carol, room];
    } finally {
      await connection.close();
    }
  }

  async #talkInPrivate(alice: Witness, bob: Witness, direct: string): Promise<void> {
    head('A direct chat');
    await this.#knows(bob, direct);
    bob.client.typing(direct);
    await alice.seesLine('bob is typing…');
    const { seq } = await alice.client.post(direct, 'Hello, Bbo');
    await bob.seesLine('alice: Hello, Bbo');
    await alice.client.edit(direct, seq, 'Hello, Bob');
    await bob.seesLine('alice now says: Hello, Bob');
    await bob.client.react(direct, seq, THUMB);
    bob.client.receipt(direct, 'read', seq);
    await alice.seesLine(`bob reacts ${THUMB}`);
    await alice.seesLine('bob has read');
    say('Typing, a message, its correction, a reaction and a receipt went from one to the other.');
  }

  async #talkInRoom(alice: Witness, carol: Witness, room: string): Promise<void> {
    head(`A room of ${ROOM_SIZE}`);
    await this.#knows(alice, room);
    const { seq } = await alice.client.post(room, 'Good morning, everyone');
    await Promise.all(this.#witnesses.map((witness) => witness.seesLine('alice: Good morning, everyone')));
    await carol.client.react(room, seq, THUMB);
    await Promise.all(this.#witnesses.map((witness) => witness.seesLine(`carol reacts ${THUMB}`)));
    say(`${this.#witnesses.length} connected clients saw the message and the reaction.`);
  }

  /** Stops the server while people go on writing, starts it again, and waits until everybody has everything. */
  async #restart(alice: Witness, bob: Witness, direct: string, room: string): Promise<void> {
    head('A restart');
    const before = this.#witnesses.map(({ reconnects }) => reconnects);
    await this.#server.stop();
    say('The server was asked to stop, and is gone.');
    const posts = [alice.client.post(room, 'Is anybody there?'), bob.client.post(direct, 'Written while it was down')];
    say(
      `Meanwhile alice and bob wrote: ${alice.client.outbox.length + bob.client.outbox.length} messages wait in their outboxes.`,
    );
    await this.#server.start();
    say('It runs again on the same ports and the same folder.');
    await Promise.all(posts);
    await Promise.all(this.#witnesses.map((witness) => witness.seesLine('alice: Is anybody there?')));
    await alice.seesLine('bob: Written while it was down');
    await Promise.all(this.#witnesses.map(({ client }) => client.caughtUp()));
    const back = this.#witnesses.filter(({ reconnects }, at) => reconnects > (before[at] ?? 0)).length;
    say(`${back} of ${this.#witnesses.length} clients reconnected by themselves and caught up.`);
  }

  /** Holds every client's copy of the room against the server's history. @throws Error when one differs. */
  #compare(room: string): void {
    const [first, ...others] = this.#witnesses.map((witness) => witness.texts(room).join('\n'));
    if (first === undefined || first === '' || others.some((texts) => texts !== first)) {
      throw new Error('The clients hold different histories of the room.');
    }
    say(`All ${this.#witnesses.length} hold the same history of the room:`);
    for (const line of first.split('\n')) say(`  ${line}`);
  }

  async #knows(witness: Witness, conv: string): Promise<void> {
    await witness.sees('the conversation', () => witness.client.conversations.has(conv));
  }
}

async function addPeople(connection: ControlConnection): Promise<Credentials[]> {
  const people = NAMES.map((username) => ({ username, password: `the password of ${username}` }));
  for (const person of people) await connection.call('user.add', { ...person, role: 'person' });
  return people;
}

function printSide({ name, seen }: Witness): void {
  head(`What ${name} saw`);
  for (const line of seen) say(`  ${line}`);
}

function head(title: string): void {
  say(`\n${title}\n${'-'.repeat(title.length)}`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function main(): Promise<void> {
  const server = await ThrowawayServer.start();
  const demo = new Demo(server);
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('The demo took too long.')), DEMO_MILLIS_MAX);
  process.once('SIGINT', () => reject(new Error('Interrupted.')));
  try {
    say(`A server runs at ${server.urls.messaging}, over a temporary folder.`);
    await Promise.race([demo.run(), late]);
  } finally {
    clearTimeout(timer);
    demo.close();
    await server.remove();
  }
  say('\nThe server has stopped and its folder is gone.');
}

try {
  await main();
} catch (error) {
  process.stderr.write(`demo: ${(error as Error).message}\n`);
  process.exitCode = 1;
}
