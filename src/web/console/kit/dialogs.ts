/** What is open over a screen: questions before what cannot be undone, forms, and secrets that are shown once. */
import type { ReactNode } from 'react';
import { Observable } from '../../kit/observable.ts';
import type { Key } from '../words/words.ts';

export interface OpenDialog {
  readonly id: number;
  readonly title: Key;
  /** What it shows; `close` closes it. */
  readonly content: (close: () => void) => ReactNode;
  /** What is lost when it closes by a slip: neither Escape nor a click beside it closes it. */
  readonly isHeld: boolean;
  readonly size: 'md' | 'lg' | 'xl';
  readonly closed: () => void;
}

export interface DialogOptions {
  readonly title: Key;
  readonly content: (close: () => void) => ReactNode;
  readonly isHeld?: boolean;
  readonly size?: OpenDialog['size'];
}

export class Dialogs extends Observable {
  #open: readonly OpenDialog[] = [];
  #made = 0;

  get open(): readonly OpenDialog[] {
    return this.#open;
  }

  /** Opens a dialog over what is open; settles when it is closed. */
  async show({ content, isHeld = false, size = 'md', title }: DialogOptions): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#made += 1;
    this.#open = [...this.#open, { id: this.#made, title, content, isHeld, size, closed: resolve }];
    this.changed();
    await promise;
  }

  close(id: number): void {
    const closing = this.#open.find((dialog) => dialog.id === id);
    this.#open = this.#open.filter((dialog) => dialog !== closing);
    this.changed();
    closing?.closed();
  }

  /** Closes what is open over a screen that is left. */
  closeAll(): void {
    for (const { id } of this.#open) this.close(id);
  }
}
