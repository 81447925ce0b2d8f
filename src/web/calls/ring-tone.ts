/** What is heard before a call: two notes for whoever is called, one long one for whoever calls. Made by the browser, no file. */

/** Each pattern: notes with their start and length in seconds and their pitch in hertz, and when it begins anew. */
const PATTERNS = {
  incoming: {
    notes: [
      [0, 0.35, 660],
      [0.4, 0.35, 880],
      [0.8, 0.35, 660],
    ],
    every: 3,
  },
  outgoing: { notes: [[0, 1, 425]], every: 4 },
} as const;
const LOUDNESS = 0.12;

export type RingKind = keyof typeof PATTERNS;

export class RingTone {
  #context: AudioContext | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  start(kind: RingKind): void {
    this.stop();
    const context = new AudioContext();
    this.#context = context;
    const { every, notes } = PATTERNS[kind];
    const play = () => {
      // A page that nobody touched yet may not sound; it rings for the eyes alone.
      if (context.state !== 'running') void context.resume().catch(() => undefined);
      for (const [start, length, pitch] of notes) playNote(context, start, length, pitch);
    };
    play();
    this.#timer = setInterval(play, every * 1_000);
  }

  stop(): void {
    clearInterval(this.#timer);
    void this.#context?.close().catch(() => undefined);
    this.#context = undefined;
  }
}

function playNote(context: AudioContext, start: number, length: number, pitch: number): void {
  const at = context.currentTime + start;
  const [oscillator, gain] = [context.createOscillator(), context.createGain()];
  oscillator.frequency.value = pitch;
  // Beginning and ending softly, or it would click.
  gain.gain.setValueAtTime(0, at);
  gain.gain.linearRampToValueAtTime(LOUDNESS, at + 0.03);
  gain.gain.setValueAtTime(LOUDNESS, at + length - 0.05);
  gain.gain.linearRampToValueAtTime(0, at + length);
  oscillator.connect(gain).connect(context.destination);
  oscillator.start(at);
  oscillator.stop(at + length);
}
