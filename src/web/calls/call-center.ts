/** The calls of whoever is signed in, as this tab shows them: what rings, what it is in, and what became of it. */
import type { Call, CallEnding } from '#src/client/calling/call.ts';
import { MESH_PEOPLE_MAX } from '#src/client/calling/call.ts';
import type { PeerMetrics } from '#src/client/calling/peer-statistics.ts';
import { type ConversationCall, Calls } from '#src/client/calling/calls.ts';
import type { ChatConversation } from '#src/client/conversations/records.ts';
import type { ServerEvent } from '#src/client/events.ts';
import type { ParleyClient } from '#src/client/parley-client.ts';
import { Observable } from '../kit/observable.ts';
import { BrowserCall } from './browser-call.ts';
import { RingTone } from './ring-tone.ts';

/** How often it is looked how well a call carries. */
const METRICS_MILLIS = 2_000;

/** Endings that say all by themselves: the person's own doing, or another device's. */
const QUIET = new Set<CallEnding | undefined>([
  'left',
  'completed',
  'cancelled',
  'answered_elsewhere',
  'declined_elsewhere',
]);

export class CallCenter extends Observable {
  readonly calls: Calls;
  readonly #browser: BrowserCall;
  readonly #tone = new RingTone();
  #ringing: readonly Call[] = [];
  #live: readonly ConversationCall[] = [];
  #shown: Call | undefined;
  #isSmall = false;
  #isElsewhere = false;
  #isSounding = false;
  #metrics: ReadonlyMap<string, PeerMetrics> = new Map();
  #timer: ReturnType<typeof setInterval> | undefined;
  #version = 0;
  /** Fulfilled when the calls of now were asked for. */
  readonly #looked: Promise<void>;

  constructor(client: ParleyClient, early: readonly ServerEvent<'signal'>[]) {
    super();
    this.#browser = new BrowserCall(client, (id) => this.#ringing.find((call) => call.id === id)?.drop());
    this.calls = new Calls(client, {
      makeConnection: (configuration) => new RTCPeerConnection(configuration),
      // A page that is not secure has none.
      media: (navigator as { mediaDevices?: MediaDevices }).mediaDevices,
    });
    this.calls.on('incoming', ({ call }) => void this.#rung(call));
    this.calls.on('changed', () => {
      this.#meetThere();
      this.#redraw();
    });
    this.calls.on('over', ({ call }) => this.#over(call));
    this.calls.on('live', ({ calls }) => {
      this.#live = calls;
      this.#meetThere();
      this.#redraw();
    });
    for (const { conv, data } of early) this.calls.observe(data, conv);
    const look = async () => await this.#resume().catch(() => undefined);
    client.on('caught-up', () => void look());
    this.#looked = look();
    client.on('connection', ({ state }) => {
      if (state !== 'stopped') return;
      this.calls.close();
      this.dismiss();
    });
    globalThis.addEventListener('online', () => this.calls.current?.restart());
    globalThis.addEventListener('pagehide', () => this.calls.leaveAll());
  }

  /** Counts changes: what screens follow. */
  get version(): number {
    return this.#version;
  }

  /** Calls that wait for an answer here. */
  get ringing(): readonly Call[] {
    return this.#ringing;
  }

  /** Whether this tab is the one that sounds. */
  get isSounding(): boolean {
    return this.#isSounding;
  }

  /** The call that is on the screen: live, or over with something to say. */
  get shown(): Call | undefined {
    return this.#shown;
  }

  get isSmall(): boolean {
    return this.#isSmall;
  }

  /** Whether a call covers the conversations. */
  get isCovering(): boolean {
    return this.#shown !== undefined && !this.#isSmall;
  }

  /** Somebody wanted to call while another tab is in a call. */
  get isElsewhere(): boolean {
    return this.#isElsewhere;
  }

  metricsOf(user: string): PeerMetrics | undefined {
    return this.#metrics.get(user);
  }

  /** The call that a conversation has now and this tab is not in. */
  liveIn(conv: string): ConversationCall | undefined {
    return this.#live.find((live) => live.conv === conv && live.users.size > 0 && live.call !== this.calls.current?.id);
  }

  /** Comes into the call of a meeting's room: the one that it has, or a new one, which rings nobody. */
  async meet(conversation: ChatConversation, video: boolean): Promise<void> {
    await this.#begin(conversation, video, true);
  }

  /** Calls a conversation, or joins the call that it has. A room of more people than fit is not rung: whoever wants comes. */
  async start(conversation: ChatConversation, video: boolean): Promise<void> {
    const isQuiet = conversation.kind === 'room' && conversation.participant_count > MESH_PEOPLE_MAX;
    await this.#begin(conversation, video, isQuiet);
  }

  async #begin(conversation: ChatConversation, video: boolean, isQuiet: boolean): Promise<void> {
    // Which calls there are is asked when this script comes, and whoever is quick would begin a second one beside.
    await this.#looked;
    if (this.calls.current !== undefined) return this.grow();
    const rung = this.#ringing.find(({ to }) => to === conversation.id);
    if (rung !== undefined) return await this.accept(rung, video);
    if (!(await this.#take())) return;
    const live = conversation.kind === 'room' ? this.liveIn(conversation.id) : undefined;
    const call =
      live === undefined ? this.calls.start({ to: conversation.id, video, isQuiet }) : this.calls.join(live, video);
    this.#browser.settle(call.id);
    this.#show(call);
  }

  async accept(call: Call, withCamera: boolean): Promise<void> {
    if (!(await this.#take())) return;
    this.#browser.settle(call.id);
    this.#show(call);
    await call.answer(withCamera);
  }

  decline(call: Call): void {
    this.#browser.settle(call.id);
    call.decline();
  }

  async hangUp(): Promise<void> {
    await this.calls.current?.hangUp();
    this.dismiss();
  }

  /** Takes what is over off the screen. */
  dismiss(): void {
    if (this.#shown !== undefined && this.#shown.phase !== 'over') return;
    this.#shown = undefined;
    this.#isElsewhere = false;
    this.#redraw();
  }

  shrink(): void {
    this.#isSmall = true;
    this.#redraw();
  }

  grow(): void {
    this.#isSmall = false;
    this.#redraw();
  }

  async #take(): Promise<boolean> {
    this.#isElsewhere = !(await this.#browser.take());
    this.#redraw();
    return !this.#isElsewhere;
  }

  async #rung(call: Call): Promise<void> {
    // The tab that is in a call says that the person is busy.
    if (!this.#browser.isHere && (await this.#browser.isTaken())) call.drop();
    this.#redraw();
  }

  /**
   * Whoever is alone in a call of a room goes over to another one that it has: of two who came at the same moment the one whose
   * call's id comes later.
   */
  #meetThere(): void {
    const { current } = this.calls;
    if (current?.phase !== 'joined' || !current.isTaken || current.participants.length > 0) return;
    const others = this.#live.filter(
      ({ call, conv, users }) => conv === current.to && call !== current.id && users.size > 0,
    );
    const there = others.find(({ call, users }) => users.size > 1 || call < current.id);
    if (there === undefined || this.#shown !== current) return;
    // It is not over for who looks on: another one is shown before it ends. Joining tells of changes at once.
    this.#shown = undefined;
    const next = this.calls.join(there, current.media.isOn('camera'));
    next.media.mute(current.media.isMuted);
    this.#browser.settle(next.id);
    this.#show(next);
    void current.hangUp();
  }

  #show(call: Call): void {
    this.#shown = call;
    this.#isSmall = false;
    clearInterval(this.#timer);
    this.#timer = setInterval(() => void this.#measure(call).catch(() => undefined), METRICS_MILLIS);
    this.#redraw();
  }

  async #measure(call: Call): Promise<void> {
    if (call.phase !== 'joined') return;
    this.#metrics = await call.metrics();
    this.#redraw();
  }

  #over(call: Call): void {
    if (this.#shown === call) {
      clearInterval(this.#timer);
      this.#browser.release();
      this.#metrics = new Map();
      if (QUIET.has(call.ending)) this.#shown = undefined;
    }
    this.#redraw();
  }

  /** What a page of this device left behind, as after a reload, is ended: nobody is in it here. */
  async #resume(): Promise<void> {
    if (await this.#browser.isTaken()) return;
    await this.calls.leaveBehind(() => this.#browser.isHere);
    await this.calls.resume();
  }

  #redraw(): void {
    this.#ringing = this.calls.list.filter(({ phase }) => phase === 'ringing');
    this.#sound();
    this.#version += 1;
    this.changed();
  }

  #sound(): void {
    if (this.#ringing.length > 0 && this.calls.current === undefined) {
      this.#browser.ring(() => {
        this.#isSounding = true;
        this.#tone.start('incoming');
        this.#redraw();
      });
      return;
    }
    this.#browser.endRinging();
    const isCalling = this.calls.current?.phase === 'calling';
    if (isCalling && !this.#isSounding) this.#tone.start('outgoing');
    else if (!isCalling && this.#isSounding) this.#tone.stop();
    this.#isSounding = isCalling;
  }
}
