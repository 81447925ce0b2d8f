/** Pushes under kills: one for each message and device that is nobody's awake, none for what was read, no phone left ringing. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Message } from '#src/protocol/conversations/messages.ts';
import { anotherDevice, post, start } from '#test/messaging/conversing.ts';
import { CERTIFICATE, LoopbackProvider } from '#test/push/loopback-provider.ts';
import type { SeededRandom } from '#test/support/random.ts';
import type { Person, Reply, TestServer } from '#test/support/server.ts';
import { until } from '#test/support/waiting.ts';
import { accepted, type Lose, type Part, type PartOptions } from './part.ts';
import { PushInbox, type Taken } from './push-inbox.ts';

const SENDER = 'pia';
/** Whom pushes reach, and on how many devices. Nobody of them is ever connected. */
const RECEIVERS = { quin: 2, rolf: 1 } as const;
type Receiver = keyof typeof RECEIVERS;
const NAMES = Object.keys(RECEIVERS) as Receiver[];
/** The least and the longest breath between two posts: a decision pushes 16 messages of a conversation at most. */
const BREATH_MILLIS_MIN = 30;
const BREATH_MILLIS_MAX = 60;
/** Pushes of a device that were begun and taken after another was: then the other's row is off the disk. */
const LATER_MIN = 3;

interface Sent {
  readonly conversation: string;
  readonly clientId: string;
  /** When the post was begun, on the clock of the tests. */
  readonly at: number;
  seq: number | undefined;
}

interface Conversation {
  readonly id: string;
  readonly receivers: readonly Receiver[];
}

export class PushPart implements Part {
  readonly environment: Readonly<Record<string, string>>;
  readonly #options: PartOptions;
  readonly #folder: string;
  readonly #inbox: PushInbox;
  readonly #sent: Sent[] = [];
  /** `user conversation` → what is read for certain, and what may be. */
  readonly #read = new Map<string, { sure: number; maybe: number }>();
  /** Calls that were begun, by the life of the server. */
  readonly #calls = new Map<string, number>();
  #sender: Person | undefined;
  #people: Readonly<Partial<Record<Receiver, Person>>> = {};
  #conversations: readonly Conversation[] = [];
  #cut = 0;
  /** Pushes and ringing phones that were noted already, and are waited for no more. */
  readonly #lost = new Set<string>();
  /** Pushes before this one were looked at. */
  #looked = 0;

  private constructor(options: PartOptions, folder: string, certificate: string, inbox: PushInbox) {
    this.#options = options;
    this.#folder = folder;
    this.#inbox = inbox;
    this.environment = {
      NODE_EXTRA_CA_CERTS: certificate,
      PARLEY_ALLOW_PRIVATE_TARGETS: 'true',
      PARLEY_PUSH_REDECIDE_SECONDS: '1',
    };
  }

  /** Starts the provider, whose certificate the server is to trust. */
  static async open(options: PartOptions): Promise<PushPart> {
    const folder = await mkdtemp(join(tmpdir(), 'parley-crash-'));
    const certificate = join(folder, 'certificate.pem');
    await writeFile(certificate, CERTIFICATE);
    const inbox = new PushInbox(await LoopbackProvider.open(), options.random.fork());
    return new PushPart(options, folder, certificate, inbox);
  }

  get figures(): Record<string, number> {
    const { rung, taken, turnedAway } = this.#inbox;
    return { messages: this.#sent.length, pushes: taken.length, turnedAway, rung: rung.size, cut: this.#cut };
  }

  async settle(server: TestServer): Promise<void> {
    const people = await server.people(SENDER, ...NAMES);
    this.#sender = people[SENDER];
    this.#people = people;
    for (const name of NAMES) {
      for (let device = 1; device <= RECEIVERS[name]; device += 1) {
        const who = device === 1 ? people[name] : await anotherDevice(server, people[name]);
        const { address } = this.#inbox.subscribe(`${name}-${device}`);
        const reply = await server.api(who, 'PUT', '/v1/push', address);
        if (reply.status !== 200) throw new Error(`A registration was refused: ${reply.text}`);
      }
    }
    const conversations: Conversation[] = [];
    for (const receivers of [...NAMES.map((name) => [name]), NAMES]) {
      const kind = receivers.length === 1 ? 'direct' : 'room';
      conversations.push({ ...(await start(server, people[SENDER], kind, receivers)), receivers });
    }
    this.#conversations = conversations;
  }

  async traffic(server: TestServer): Promise<void> {
    this.#inbox.isBusy = true;
    const talking = this.#conversations.map(async (one) => await this.#talk(server, one, this.#options.random.fork()));
    await Promise.all([...talking, this.#ring(server, this.#options.random.fork())]);
    this.#inbox.life += 1;
    this.#inbox.isBusy = false;
  }

  async verify(server: TestServer): Promise<void> {
    // At once, before the server has looked into what the kill interrupted: that must not be forgotten for it.
    for (const { id } of this.#conversations) await this.#post(server, id);
    for (const sent of this.#sent) if (sent.seq === undefined) await this.#send(server, sent);
    await this.#expectAll();
    // What is pushed twice is so by decisions before these.
    for (const { id } of this.#conversations) await this.#post(server, id);
    await this.#expectAll();
    await this.#expectSilence();
    this.#lookAtNew();
  }

  async close(): Promise<void> {
    await this.#inbox.close();
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** Posts, and has a receiver read some of it as by somebody else's screen. */
  async #talk(server: TestServer, { id, receivers }: Conversation, random: SeededRandom): Promise<void> {
    for (;;) {
      const seq = await this.#post(server, id);
      if (seq === undefined) return;
      if (random.chance(0.2) && !(await this.#readUpTo(server, random.pick(receivers), id, seq))) return;
      await pause(random.whole(BREATH_MILLIS_MIN, BREATH_MILLIS_MAX));
    }
  }

  async #post(server: TestServer, conversation: string): Promise<number | undefined> {
    const sent: Sent = { conversation, clientId: `push-${this.#sent.length}`, at: performance.now(), seq: undefined };
    this.#sent.push(sent);
    return await this.#send(server, sent);
  }

  async #send(server: TestServer, sent: Sent): Promise<number | undefined> {
    const form = { kind: 'text', body: 'for a phone', client_msg_id: sent.clientId };
    const reply: Reply<Message> | undefined = await accepted(
      post(server, this.#sender, sent.conversation, form),
      this.#lose,
    );
    sent.seq = reply?.body.seq;
    return sent.seq;
  }

  async #readUpTo(server: TestServer, user: Receiver, conversation: string, seq: number): Promise<boolean> {
    const read = this.#readOf(user, conversation);
    read.maybe = Math.max(read.maybe, seq);
    const path = `/v1/conversations/${conversation}/receipts`;
    const sent = server.api(this.#people[user], 'POST', path, { state: 'read', seq });
    if ((await accepted(sent, this.#lose)) === undefined) return false;
    read.sure = Math.max(read.sure, seq);
    return true;
  }

  /** Rings phones, and takes each call back until the kill comes first. */
  async #ring(server: TestServer, random: SeededRandom): Promise<void> {
    for (;;) {
      const to = this.#conversations[0]?.id;
      const call = `ring-${this.#calls.size}`;
      this.#calls.set(call, this.#inbox.life);
      const step = { to, kind: 'call', call };
      const invite = { ...step, step: 'invite', seq: 1, body: { video: false, room: 'r' } };
      if ((await accepted(server.api(this.#sender, 'POST', '/v1/signal', invite), this.#lose)) === undefined) return;
      // Half of them are taken back while the push of the call is still on its way.
      await pause(random.whole(1, random.chance(0.5) ? BREATH_MILLIS_MIN : 4 * BREATH_MILLIS_MAX));
      const cancel = { ...step, step: 'cancel', seq: 2, body: {} };
      if ((await accepted(server.api(this.#sender, 'POST', '/v1/signal', cancel), this.#lose)) === undefined) return;
    }
  }

  /** Waits until every message is pushed to every device whose owner may not have read it. */
  async #expectAll(): Promise<void> {
    const missing = (): string[] => {
      const taken = new Set(this.#inbox.taken.map(nameOf));
      return this.#due().filter((name) => !taken.has(name) && !this.#lost.has(name));
    };
    try {
      await until(() => missing().length === 0, 'all pushes');
    } catch {
      for (const name of missing()) {
        this.#lost.add(name);
        this.#lose(`There is no push of ${name}.`);
      }
    }
  }

  /** What has to be pushed: device, conversation and seq. */
  #due(): string[] {
    return this.#conversations.flatMap(({ id, receivers }) =>
      receivers.flatMap((user) => {
        const { maybe } = this.#readOf(user, id);
        const seqs = this.#sent.flatMap(({ conversation, seq }) => (conversation === id ? [seq ?? 0] : []));
        const devices = Array.from({ length: RECEIVERS[user] }, (_, n) => `${user}-${n + 1}`);
        return seqs
          .filter((seq) => seq > maybe)
          .flatMap((seq) => devices.map((device) => nameOf({ device, conversation: id, seq })));
      }),
    );
  }

  /** Calls went with the server: what was rung is told so, and nothing else begins to ring. */
  async #expectSilence(): Promise<void> {
    const ringing = () => [...this.#inbox.rung].filter(([name, { isOver }]) => !isOver && !this.#lost.has(name));
    await until(() => ringing().length === 0, 'the phones to be silent').catch(() => undefined);
    for (const [name, { call, device }] of ringing()) {
      this.#lost.add(name);
      this.#lose(`${call} rings for ever on ${device}.`);
    }
    for (const [name, { call, device, life }] of this.#inbox.rung) {
      const begun = this.#calls.get(call);
      if (life !== begun && !this.#lost.has(name))
        this.#lose(`${call} of life ${begun} rang on ${device} in life ${life}.`);
    }
  }

  /** Looks at what was pushed since the last time: twice, after it was read, or under another topic. */
  #lookAtNew(): void {
    const { life, taken } = this.#inbox;
    const topics = new Map<string, string>();
    const earlier = new Map<string, Taken>();
    for (const [at, push] of taken.entries()) {
      const name = nameOf(push);
      const before = earlier.get(name);
      earlier.set(name, push);
      const topic = topics.get(push.conversation) ?? push.topic;
      topics.set(push.conversation, topic);
      if (at < this.#looked) continue;
      if (push.topic !== topic) this.#lose(`${name} went out under the topic ${push.topic} instead of ${topic}.`);
      if (before !== undefined) this.#lookAtDouble(before, push);
      const user = push.device.split('-')[0] as Receiver;
      // In the life in which it was read, a push may have been on its way already.
      const { sure } = this.#readOf(user, push.conversation);
      if (push.life === life && push.seq <= sure)
        this.#lose(`${name} was pushed in life ${life}, and was read before.`);
    }
    this.#looked = taken.length;
  }

  /**
   * Twice is right only where the kill came between the provider's answer and the commit behind it. It did not when the
   * device was told of messages that were posted after that answer: their rows were written behind that commit.
   */
  #lookAtDouble(first: Taken, second: Taken): void {
    const postedAt = new Map(this.#sent.map(({ at, conversation, seq }) => [`${conversation} ${seq}`, at]));
    const later = this.#inbox.taken.filter(({ conversation, device, life, seq }) => {
      const isLater = (postedAt.get(`${conversation} ${seq}`) ?? 0) > first.at;
      return isLater && device === first.device && life === first.life;
    });
    if (first.life !== second.life && later.length < LATER_MIN) this.#cut += 1;
    else this.#lose(`${nameOf(first)} was pushed in life ${first.life} and again in life ${second.life}.`);
  }

  #readOf(user: Receiver, conversation: string): { sure: number; maybe: number } {
    const name = `${user} ${conversation}`;
    const read = this.#read.get(name) ?? { sure: 0, maybe: 0 };
    this.#read.set(name, read);
    return read;
  }

  get #lose(): Lose {
    return this.#options.lose;
  }
}

function nameOf({ conversation, device, seq }: Pick<Taken, 'device' | 'conversation' | 'seq'>): string {
  return `${device} ${conversation} ${seq}`;
}
