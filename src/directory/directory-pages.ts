/**
 * Pages of the directory as they go out, read from the disk and written as JSON once for all who ask until somebody in the
 * directory changes. What a reader may see of a page is decided for each reader, at each request.
 */
import { createHash } from 'node:crypto';
import { directoryEntry, type DirectoryEntry } from '#src/protocol/directory/directory.ts';

/** Pages that are kept: some 40 KiB each, for clients that walk a directory of 20,000. The one read longest ago goes. */
export const DIRECTORY_PAGES_MAX = 100;

/** People and bots of one page, whoever may see them. */
export interface DirectoryPage {
  readonly entries: readonly DirectoryEntry[];
  readonly next: string | null;
  readonly rev: number;
}

/** A page as a reader gets it: its JSON, and the tag that says whether it is another one. */
export interface DirectoryReply {
  readonly json: Buffer;
  readonly etag: string;
}

interface KeptPage {
  readonly users: readonly string[];
  /** The JSON of each entry, held to its schema when it was made. */
  readonly texts: readonly string[];
  readonly next: string | null;
  readonly rev: number;
  /** The reply of the last scope to those who may see everybody in it. */
  whole: { readonly scope: string; readonly reply: DirectoryReply } | undefined;
}

export class DirectoryPages {
  /** What was asked → the page; the one read longest ago is the first. */
  readonly #pages = new Map<string, KeptPage>();
  #rev = -1;

  /**
   * The reply to what was asked, made of a page that `make` reads where none is kept.
   * @param rev the directory's change number: what was read under another one is forgotten.
   * @param asked tells one page from another.
   */
  reply(
    rev: number,
    asked: string,
    scope: string,
    isVisible: (user: string) => boolean,
    make: () => DirectoryPage,
  ): DirectoryReply {
    const page = this.#page(rev, asked, make);
    const visible = page.users.map(isVisible);
    if (visible.includes(false)) return replyOf(page, visible, scope);
    if (page.whole?.scope !== scope) page.whole = { scope, reply: replyOf(page, visible, scope) };
    return page.whole.reply;
  }

  #page(rev: number, asked: string, make: () => DirectoryPage): KeptPage {
    if (rev !== this.#rev) this.#pages.clear();
    this.#rev = rev;
    const kept = this.#pages.get(asked) ?? keep(make());
    this.#pages.delete(asked);
    this.#pages.set(asked, kept);
    for (const oldest of this.#pages.keys()) {
      if (this.#pages.size <= DIRECTORY_PAGES_MAX) break;
      this.#pages.delete(oldest);
    }
    return kept;
  }
}

function keep({ entries, next, rev }: DirectoryPage): KeptPage {
  const texts = entries.map((entry) => JSON.stringify(directoryEntry.parse(entry)));
  return { users: entries.map(({ user }) => user), texts, next, rev, whole: undefined };
}

function replyOf({ texts, next, rev }: KeptPage, visible: readonly boolean[], scope: string): DirectoryReply {
  const items = texts.filter((_, at) => visible[at]).join(',');
  const rest = JSON.stringify({ next, rev, scope }).slice(1);
  const json = Buffer.from(`{"items":[${items}],${rest}`, 'utf8');
  return { json, etag: `"${createHash('sha256').update(json).digest('base64url').slice(0, 22)}"` };
}
