/** A plugin of the build that knows which modules a module of the app loads at once, without what it loads later. */
import { join } from 'node:path';

export class ScreenModules {
  readonly name = 'screen-modules';
  readonly #folder: string;
  readonly #imports = new Map<string, readonly string[]>();
  readonly #loaded = new Map<string, ReadonlySet<string>>();

  /** `folder` is where the app's own modules are. */
  constructor(folder: string) {
    this.#folder = folder;
  }

  readonly moduleParsed = ({ id, importedIds }: { id: string; importedIds: readonly string[] }): void => {
    this.#imports.set(id, importedIds);
    this.#loaded.clear();
  };

  /** Whether a module is loaded with the one that `start` names within the folder. Known once everything was parsed. */
  isIn(start: string, id: string): boolean {
    let loaded = this.#loaded.get(start);
    if (loaded === undefined) {
      const found = new Set<string>([join(this.#folder, start)]);
      for (const one of found) for (const imported of this.#imports.get(one) ?? []) found.add(imported);
      this.#loaded.set(start, (loaded = found));
    }
    return loaded.has(id);
  }
}
