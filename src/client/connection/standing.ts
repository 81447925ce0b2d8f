/** Where this client stands against the server's protocol versions: current, behind or too old (VER-04). */
import { VERSION_HEADERS } from '#src/protocol/version.ts';

/**
 * `current`: nothing to show. `behind`: served, show an unobtrusive notice to update. `too-old`: refused, show a
 * screen that blocks.
 */
export type Standing = 'current' | 'behind' | 'too-old';

/** The standing of a client version against what the service speaks and the oldest it serves. */
export function standingOf(client: number, service: number, serviceMin: number): Standing {
  if (client < serviceMin) return 'too-old';
  return client < service ? 'behind' : 'current';
}

/** Follows the standing through the headers of every answer, also of those that failed. */
export class StandingWatch {
  readonly #client: number;
  readonly #onChange: (standing: Standing) => void;
  #current: Standing = 'current';

  constructor(client: number, onChange: (standing: Standing) => void) {
    this.#client = client;
    this.#onChange = onChange;
  }

  get current(): Standing {
    return this.#current;
  }

  /** Reads the two headers of an answer. One without them, or with something else in them, says nothing. */
  observe(headers: Pick<Headers, 'get'>): void {
    const service = readVersion(headers.get(VERSION_HEADERS.service));
    const serviceMin = readVersion(headers.get(VERSION_HEADERS.serviceMin));
    if (service === undefined || serviceMin === undefined) return;
    this.#change(standingOf(this.#client, service, serviceMin));
  }

  /** The server refused with `client_too_old` or closed the socket with 4426, where a page may not read headers. */
  observeTooOld(): void {
    this.#change('too-old');
  }

  #change(standing: Standing): void {
    if (standing === this.#current) return;
    this.#current = standing;
    this.#onChange(standing);
  }
}

function readVersion(header: string | null): number | undefined {
  return header !== null && /^\d{1,9}$/.test(header.trim()) ? Number(header) : undefined;
}
