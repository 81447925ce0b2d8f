/** What a screen is, and what it is given to work with. */
import type { Permission } from '#src/identity/console/permissions.ts';
import type { ConsoleApi, Input, ReplyOf, RouteName } from './console-api.ts';
import type { Key } from './language.ts';
import type { Notices } from './notices.ts';

/** Who is signed in, as the server says. */
export type Me = ReplyOf<'get /me'>;

/** Where in the console somebody is: `#/people/alice?text=al` has the path `people` and the rest `['alice']`. */
export interface Place {
  readonly path: string;
  readonly rest: readonly string[];
  readonly query: URLSearchParams;
}

export function readPlace(hash: string): Place {
  const [route = '', search = ''] = hash.replace(/^#?\/?/, '').split('?', 2);
  const [path = '', ...rest] = route.split('/').map(decodePart);
  return { path, rest: rest.filter((part) => part !== ''), query: new URLSearchParams(search) };
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // A hand-written address: shown as it is.
    return part;
  }
}

export interface ScreenContextOptions {
  readonly api: ConsoleApi;
  readonly me: Me;
  readonly notices: Notices;
  readonly place: Place;
  /** Aborted when the screen is left. */
  readonly signal: AbortSignal;
  /** Keeps the query of the screen in the address, so that going back and signing in again lead to the same view. */
  readonly keepQuery: (query: URLSearchParams) => void;
  readonly go: (route: string) => void;
  readonly signOut: () => Promise<void>;
}

export class ScreenContext {
  readonly #options: ScreenContextOptions;

  constructor(options: ScreenContextOptions) {
    this.#options = options;
  }

  get me(): Me {
    return this.#options.me;
  }

  get notices(): Notices {
    return this.#options.notices;
  }

  get place(): Place {
    return this.#options.place;
  }

  get signal(): AbortSignal {
    return this.#options.signal;
  }

  get isVendor(): boolean {
    return this.#options.me.kind === 'vendor';
  }

  /** Whether to offer what takes a permission. Advice: the server decides when it is done. */
  may(permission: Permission): boolean {
    return this.#options.me.permissions.includes(permission);
  }

  /** A request of this screen: once the screen is left it never settles. */
  async call<N extends RouteName>(name: N, input: Input<N>): Promise<ReplyOf<N>> {
    return await this.#options.api.call(name, input, this.#options.signal);
  }

  /** As `call`, for what the API's table has no name for each: files and the screens of settings. */
  get api(): ConsoleApi {
    return this.#options.api;
  }

  go(route: string): void {
    this.#options.go(route);
  }

  keepQuery(query: URLSearchParams): void {
    this.#options.keepQuery(query);
  }

  async signOut(): Promise<void> {
    await this.#options.signOut();
  }

  /** Waits on the screen; it never settles once the screen is left. */
  async wait(millis: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, millis);
    this.signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
    await promise;
  }
}

/** Groups of the menu, in their order. */
export const SECTIONS = ['now', 'people', 'access', 'hosts', 'traces'] as const;
export type Section = (typeof SECTIONS)[number];

export interface Screen {
  /** The first part of its address. */
  readonly path: string;
  readonly title: Key;
  readonly section: Section;
  /** Who does not have it is not shown the screen. */
  readonly needs?: Permission;
  /** False where its routes are closed to vendor tokens, and where they name people: the banner says that nothing does. */
  readonly isForVendors: boolean;
  /** False for screens of people who sign in with a password of their own. */
  readonly isFor?: (me: Me) => boolean;
  show(stage: ScreenContext): readonly Node[];
}

/** Whether a screen is for somebody: what the menu shows and what an address opens. */
export function isOpenTo(screen: Screen, me: Me): boolean {
  if (me.kind === 'vendor' && !screen.isForVendors) return false;
  if (screen.isFor !== undefined && !screen.isFor(me)) return false;
  return screen.needs === undefined || me.permissions.includes(screen.needs);
}
