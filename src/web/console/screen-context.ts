/** What a screen is, and what it is given to work with. */
import { createContext, use, type ComponentType } from 'react';
import type { Permission } from '#src/identity/console/permissions.ts';
import type { Dialogs } from './kit/dialogs.ts';
import type { Notices } from './kit/notices.ts';
import type { ConsoleApi, Input, ReplyOf, RouteName } from './session/console-api.ts';
import type { Me } from './session/console-session.ts';
import type { Key } from './words/words.ts';

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
  readonly dialogs: Dialogs;
  readonly place: Place;
  /** Aborted when the screen is left. */
  readonly signal: AbortSignal;
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

  get dialogs(): Dialogs {
    return this.#options.dialogs;
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

  /** For what the API's table has no name for each: files and the screens of settings. */
  get api(): ConsoleApi {
    return this.#options.api;
  }

  /** Whether to offer what takes a permission. Advice: the server decides when it is done. */
  may(permission: Permission): boolean {
    return this.#options.me.permissions.includes(permission);
  }

  /** A request of this screen: once the screen is left it never settles. */
  async call<N extends RouteName>(name: N, input: Input<N>): Promise<ReplyOf<N>> {
    return await this.#options.api.call(name, input, this.#options.signal);
  }

  go(route: string): void {
    location.hash = `#/${route}`;
  }

  /** Keeps the query of the screen in the address, so that going back and signing in again lead to the same view. */
  keepQuery(values: Readonly<Record<string, string | undefined>>): void {
    const pairs = Object.entries(values).filter((pair): pair is [string, string] => (pair[1] ?? '') !== '');
    const query = new URLSearchParams(pairs).toString();
    const route = [this.place.path, ...this.place.rest].map(encodeURIComponent).join('/');
    history.replaceState(history.state, '', `#/${route}${query === '' ? '' : `?${query}`}`);
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

/** Where a screen is shown there is one. */
export const CurrentScreenContext = createContext<ScreenContext | undefined>(undefined);

export function useScreenContext(): ScreenContext {
  const context = use(CurrentScreenContext);
  if (context === undefined) throw new Error('A screen is shown without a context.');
  return context;
}

/** Groups of the menu, in their order. */
export const SECTIONS = ['now', 'people', 'rooms', 'access', 'integrations', 'settings', 'hosts', 'traces'] as const;
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
  /** Its script comes when it is opened for the first time. */
  readonly load: () => Promise<ComponentType>;
}

/** Why a screen is not for somebody; undefined where it is. What the menu shows and what an address opens goes by it. */
export function closedBy(screen: Screen, me: Me): 'vendor' | 'account' | Permission | undefined {
  if (me.kind === 'vendor' && !screen.isForVendors) return 'vendor';
  if (screen.isFor !== undefined && !screen.isFor(me)) return 'account';
  return screen.needs === undefined || me.permissions.includes(screen.needs) ? undefined : screen.needs;
}

export function isOpenTo(screen: Screen, me: Me): boolean {
  return closedBy(screen, me) === undefined;
}
