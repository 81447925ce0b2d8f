/** What the server found for a search, page by page. */
import { useEffect, useRef, useState } from 'react';
import type { ParleyClient } from '#src/client/parley-client.ts';
import type { SearchHit, SearchQuery } from '#src/client/messaging-api.ts';
import { sentenceOf } from '../../kit/language.ts';
import { useChat } from '../chat-context.ts';
import { beginOf, type SearchWords } from './search-words.ts';

const PAGE = 20;
/**
 * Requests for one press of a button: a page may come back empty while there is more to look at, and a history of years takes
 * several. Beyond it the person is asked whether to go on.
 */
const REQUESTS_MAX = 12;

export interface FoundMessages {
  readonly items: readonly SearchHit[];
  /** Where the search goes on; null when everything was looked at, undefined before the first answer. */
  readonly next: string | null | undefined;
  readonly isSearching: boolean;
  readonly refused: string | undefined;
}

const NOTHING: FoundMessages = { items: [], next: undefined, isSearching: false, refused: undefined };

export function useFoundMessages(words: SearchWords): FoundMessages & { readonly more: () => void } {
  const { client } = useChat();
  const [found, setFound] = useState(NOTHING);
  const asked = useRef(0);
  /** The server takes one search of a person at a time. */
  const before = useRef<Promise<void>>(Promise.resolve());
  const { after, before: until, conv, from, hasFile, text } = words;
  const run = (known: FoundMessages) => {
    const turn = asked.current;
    const isOver = () => turn !== asked.current;
    const show = (now: FoundMessages) => {
      if (!isOver()) setFound(now);
    };
    show({ ...known, isSearching: true, refused: undefined });
    before.current = before.current
      .then(async () => await read(client, text, queryOf(words), known, show, isOver))
      .catch((thrown: unknown) => show({ ...known, isSearching: false, refused: sentenceOf(thrown) }));
  };
  useEffect(() => {
    asked.current += 1;
    if (text === '') setFound(NOTHING);
    else run(NOTHING);
    return () => {
      asked.current += 1;
    };
    // Each of these makes another search; the functions are made anew with each drawing.
  }, [client, text, conv, from, hasFile, after, until]);
  return { ...found, more: () => run(found) };
}

async function read(
  client: ParleyClient,
  text: string,
  query: SearchQuery,
  known: FoundMessages,
  show: (found: FoundMessages) => void,
  isOver: () => boolean,
): Promise<void> {
  let found = known;
  for (let request = 1; request <= REQUESTS_MAX && !isOver(); request += 1) {
    const cursor = found.next ?? undefined;
    // Each page goes on from where the one before it ended.
    const page = await client.search(text, { ...query, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    const items = [...found.items, ...page.items];
    const isEnough = page.next === null || items.length - known.items.length >= PAGE || request === REQUESTS_MAX;
    found = { items, next: page.next, isSearching: !isEnough, refused: undefined };
    show(found);
    if (isEnough) return;
  }
}

function queryOf({ after, before, conv, from, hasFile }: SearchWords): SearchQuery {
  const [begin, end] = [beginOf(after), beginOf(before)];
  return {
    ...(conv === undefined ? {} : { conversation: conv }),
    ...(from === undefined ? {} : { sender: from }),
    ...(hasFile === true ? { kind: 'media' as const } : {}),
    ...(begin === undefined ? {} : { after: begin }),
    ...(end === undefined ? {} : { before: end }),
  };
}
