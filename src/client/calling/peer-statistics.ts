/** How well a connection carries: rates from two looks at what the browser counts (W3C WebRTC Statistics). */

export interface PeerMetrics {
  /** Bits a second since the look before; 0 at the first one. */
  readonly bitsReceived: number;
  readonly bitsSent: number;
  /** The part of packets to this side that got lost since the look before, from 0 to 1. */
  readonly loss: number;
  /** In milliseconds; undefined until the connection stands. */
  readonly roundTrip: number | undefined;
  /** Pictures of the other side that were drawn so far. */
  readonly framesDecoded: number;
  /** How loud the other side is now, from 0 to 1. */
  readonly audioLevel: number;
}

interface Counts {
  at: number;
  bytesReceived: number;
  bytesSent: number;
  packets: number;
  lost: number;
}

const NONE: Counts = { at: 0, bytesReceived: 0, bytesSent: 0, packets: 0, lost: 0 };

export class PeerStatistics {
  #before: Counts = NONE;

  /** Reads a report and compares it with the one before. */
  take(report: Iterable<readonly [string, unknown]>): PeerMetrics {
    const counts = { ...NONE };
    let [roundTrip, framesDecoded, audioLevel]: [number | undefined, number, number] = [undefined, 0, 0];
    for (const [, entry] of report) {
      const one = entry as Readonly<Record<string, unknown>>;
      const read = (name: string) => (typeof one[name] === 'number' ? one[name] : 0);
      if (one['type'] === 'inbound-rtp') {
        counts.at = Math.max(counts.at, read('timestamp'));
        counts.bytesReceived += read('bytesReceived');
        counts.packets += read('packetsReceived');
        counts.lost += read('packetsLost');
        framesDecoded += read('framesDecoded');
        audioLevel = Math.max(audioLevel, read('audioLevel'));
      } else if (one['type'] === 'outbound-rtp') {
        counts.at = Math.max(counts.at, read('timestamp'));
        counts.bytesSent += read('bytesSent');
      } else if (one['type'] === 'candidate-pair' && one['nominated'] === true && read('currentRoundTripTime') > 0) {
        roundTrip = read('currentRoundTripTime') * 1_000;
      }
    }
    const before = this.#before;
    this.#before = counts;
    const seconds = before.at === 0 ? 0 : (counts.at - before.at) / 1_000;
    const rate = (now: number, then: number) => (seconds > 0 ? Math.max(0, ((now - then) * 8) / seconds) : 0);
    const lost = Math.max(0, counts.lost - before.lost);
    const expected = Math.max(0, counts.packets - before.packets) + lost;
    return {
      bitsReceived: rate(counts.bytesReceived, before.bytesReceived),
      bitsSent: rate(counts.bytesSent, before.bytesSent),
      loss: expected === 0 ? 0 : lost / expected,
      roundTrip,
      framesDecoded,
      audioLevel,
    };
  }
}
