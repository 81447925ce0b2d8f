/** Contents that are coming and going: none is removed that an upload is about to become an attachment with. */
export class ContentClaims {
  readonly #remove: (name: string) => Promise<void>;
  readonly #isUsed: (name: string) => boolean;
  /** Content → how many uploads are becoming an attachment with it. */
  readonly #coming = new Map<string, number>();
  /** Content → its removal, while that lasts. */
  readonly #going = new Map<string, Promise<void>>();

  /** `remove` takes a content away wherever it lies; `isUsed` says whether an attachment on disk has it. */
  constructor(remove: (name: string) => Promise<void>, isUsed: (name: string) => boolean) {
    this.#remove = remove;
    this.#isUsed = isUsed;
  }

  /** Does what gives a content an attachment. The content stays meanwhile; where that fails it goes if nothing has it. */
  async claim(name: string, action: () => Promise<void>): Promise<void> {
    this.#coming.set(name, (this.#coming.get(name) ?? 0) + 1);
    let isKept = false;
    try {
      // Whoever is removing the same content has to be through with it; later ones leave it.
      await this.#going.get(name);
      await action();
      isKept = true;
    } finally {
      const others = (this.#coming.get(name) ?? 1) - 1;
      if (others > 0) this.#coming.set(name, others);
      else this.#coming.delete(name);
      if (!isKept) await this.removeUnused(name);
    }
  }

  /** Removes a content that nothing has or is about to have. Whether it did. */
  async removeUnused(name: string): Promise<boolean> {
    // Asked and begun in one go, so that nobody claims it in between.
    if (this.#coming.has(name) || this.#isUsed(name)) return false;
    const removal = this.#going.get(name) ?? this.#remove(name).finally(() => this.#going.delete(name));
    this.#going.set(name, removal);
    await removal;
    return true;
  }
}
