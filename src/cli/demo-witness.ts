/** A person of the demo on a device: a client, and what it saw, in words. */
import type { ClientEvents } from '#src/client/events.ts';
import { ParleyClient } from '#src/client/parley-client.ts';
import type { ServerUrls } from './throwaway-server.ts';

/** How long anything may take to be seen: a client comes back within 1.5 seconds of a restart, mostly. */
const SIGHT_MILLIS = 10_000;

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

export class Witness {
  readonly name: string;
  readonly client: ParleyClient;
  /** What it saw, a line each. */
  readonly seen: string[] = [];
  reconnects = 0;
  #waiting: (() => void)[] = [];

  private constructor(name: string, client: ParleyClient) {
    this.name = name;
    this.client = client;
    this.#listen();
  }

  /** Signs in and connects. @throws ParleyError */
  static async signIn(urls: ServerUrls, { username, password }: Credentials): Promise<Witness> {
    const client = await ParleyClient.signIn({
      coordinatorUrl: urls.coordinator,
      messagingUrl: urls.messaging,
      username,
      password,
      device: { name: 'Demo', platform: 'node' },
    });
    return new Witness(username, client);
  }

  /** Waits until something was seen. @throws Error after SIGHT_MILLIS. */
  async sees(what: string, look: () => boolean): Promise<void> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error(`${this.name} did not see ${what}.`)), SIGHT_MILLIS);
    try {
      while (!look()) await Promise.race([late, new Promise<void>((resolve) => this.#waiting.push(resolve))]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Waits until a line with that text was seen. */
  async seesLine(text: string): Promise<void> {
    await this.sees(`“${text}”`, () => this.seen.some((line) => line.includes(text)));
  }

  /** The texts of a conversation as this client holds them, in order. */
  texts(conv: string): string[] {
    return (this.client.conversations.get(conv)?.messages ?? []).map(
      ({ seq, sender, body }) => `${seq} ${sender}: ${textOf(body)}`,
    );
  }

  #listen(): void {
    this.#on('message.new', ({ data, seq }) => `#${seq} ${data.sender}: ${textOf(data.body)}`);
    this.#on('message.edit', ({ data, seq }) => `#${seq} ${data.sender} now says: ${textOf(data.body)}`);
    this.#on(
      'reaction',
      ({ data }) => `#${data.seq} ${data.user} ${data.added ? 'reacts' : 'no longer reacts'} ${data.emoji}`,
    );
    this.#on('receipt', ({ data }) => `${data.user} has ${data.state} everything up to #${data.seq}`);
    this.#on('typing', ({ data }) => `${data.user} is typing…`);
    for (const type of ['caught-up', 'afresh', 'inbox', 'membership'] as const) this.#on(type, () => undefined);
    this.#on('connection', (report) => {
      if (report.state === 'waiting' && report.millis > 0) {
        return `no connection (${report.code ?? 'nobody answers'}); tries again in ${Math.round(report.millis)} ms`;
      }
      if (report.state !== 'open') return undefined;
      this.reconnects += 1;
      return 'connected';
    });
  }

  #on<Type extends keyof ClientEvents>(type: Type, say: (event: ClientEvents[Type]) => string | undefined): void {
    this.client.on(type, (event) => {
      const line = say(event);
      if (line !== undefined) this.seen.push(line);
      for (const resolve of this.#waiting.splice(0)) resolve();
    });
  }
}

/** A text message's body; other kinds have none to print. */
function textOf(body: unknown): string {
  return typeof body === 'string' ? body : '…';
}
