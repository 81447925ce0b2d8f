/**
 * A list of the server's as a table: page by page, with a state for loading, for nothing there, and for what went wrong. On a
 * narrow screen the rows become cards, each value under the name of its column.
 */
import { Button, Checkbox } from '@mantine/core';
import { useCallback, useEffect, useRef, useState, type ReactNode } from 'react';
import { t, type Key } from '../words/words.ts';
import { harmless } from './facts.tsx';
import { Failed, Waiting } from './loaded.tsx';

export interface Column<T> {
  readonly head: Key;
  readonly cell: (item: T) => ReactNode;
  /** Numbers stand under each other by their last digit. */
  readonly isNumber?: boolean;
}

export interface Page<T> {
  readonly items: readonly T[];
  /** What to ask the next page with; null at the end. */
  readonly next: string | null;
}

interface Rows<T> {
  readonly items: readonly T[];
  readonly next: string | null;
  readonly isLoading: boolean;
  readonly error: unknown;
}

export interface List<T> extends Rows<T> {
  /** Reads the list afresh, from its first page. Never fails: what went wrong is shown. */
  readonly reload: () => Promise<void>;
  readonly more: () => Promise<void>;
}

const NOTHING_YET = { items: [], next: null, isLoading: true, error: undefined };

/** Reads a list now, and again when one of `of` is another. */
export function useList<T>(
  load: (after: string | undefined) => Promise<Page<T>>,
  of: readonly unknown[] = [],
): List<T> {
  const [rows, setRows] = useState<Rows<T>>(NOTHING_YET);
  const latest = useRef(load);
  latest.current = load;
  const reading = useRef(0);
  const read = useCallback(async (after: string | undefined) => {
    reading.current += 1;
    const own = reading.current;
    setRows((before) => ({ ...before, isLoading: true, error: undefined }));
    try {
      const { items, next } = await latest.current(after);
      // A late answer to an earlier question changes nothing.
      if (own !== reading.current) return;
      setRows((before) => ({
        items: after === undefined ? items : [...before.items, ...items],
        next,
        isLoading: false,
        error: undefined,
      }));
    } catch (error) {
      if (own === reading.current) setRows((before) => ({ ...before, isLoading: false, error }));
    }
  }, []);
  const reload = useCallback(async () => await read(undefined), [read]);
  const asked = of.map(String).join('\u0000');
  useEffect(() => {
    void reload();
  }, [asked, reload]);
  return { ...rows, reload, more: async () => await read(rows.next ?? undefined) };
}

/** A list that is there already. */
export function listOf<T>(items: readonly T[]): List<T> {
  const nothing = async () => await Promise.resolve();
  return { items, next: null, isLoading: false, error: undefined, reload: nothing, more: nothing };
}

export interface DataTableProps<T> {
  /** Its name, which is not shown where it is the title of the screen. */
  readonly caption: Key;
  readonly empty: Key;
  readonly columns: readonly (Column<T> | false)[];
  readonly list: List<T>;
  readonly keyOf?: (item: T, at: number) => string;
  /** What is done with several rows at once: they are chosen by boxes then. */
  readonly bulk?: ((chosen: readonly T[], clear: () => void) => ReactNode) | undefined;
}

export function DataTable<T>({
  bulk,
  caption,
  columns,
  empty,
  keyOf = (_, at) => String(at),
  list,
}: DataTableProps<T>) {
  const { error, isLoading, items } = list;
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const keys = items.map(keyOf);
  const taken = items.filter((_, at) => chosen.has(keys[at] as string));
  const clear = () => setChosen(new Set());
  const choose = (key: string, isChosen: boolean) => {
    setChosen((before) => (isChosen ? before.union(new Set([key])) : before.difference(new Set([key]))));
  };
  const shown = columns.filter((column) => column !== false);
  const isChosen = bulk === undefined ? undefined : (key: string) => chosen.has(key);
  return (
    <div className="listing" aria-busy={isLoading || undefined}>
      {bulk !== undefined && taken.length > 0 && (
        <Chosen count={taken.length} clear={clear}>
          {bulk(taken, clear)}
        </Chosen>
      )}
      {/* Wide tables are scrolled by key, too, so what scrolls takes the focus. */}
      <div className="scroll" tabIndex={0} role="region" aria-label={t(caption)}>
        <table>
          <caption className={caption.endsWith('.title') ? 'unseen' : undefined}>{t(caption)}</caption>
          <thead>
            <tr>
              {bulk !== undefined && (
                <th scope="col" className="pick">
                  <Checkbox
                    aria-label={t('list.choose-all')}
                    checked={items.length > 0 && taken.length === items.length}
                    indeterminate={taken.length > 0 && taken.length < items.length}
                    onChange={(event) => setChosen(new Set(event.currentTarget.checked ? keys : []))}
                  />
                </th>
              )}
              {shown.map(({ head, isNumber }) => (
                <th key={head} scope="col" className={isNumber === true ? 'number' : undefined}>
                  {t(head)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {items.map((item, at) => {
              const key = keys[at] as string;
              return (
                <Row key={key} name={key} item={item} columns={shown} isChosen={isChosen?.(key)} onChosen={choose} />
              );
            })}
          </tbody>
        </table>
      </div>
      {isLoading && items.length === 0 && <Waiting />}
      <p className="state" role="status">
        {!isLoading && error === undefined && items.length === 0 ? t(empty) : null}
      </p>
      {error === undefined ? null : <Failed error={error} retry={() => void list.reload()} />}
      <More list={list} />
    </div>
  );
}

function More<T>({ list: { isLoading, more, next } }: Pick<DataTableProps<T>, 'list'>) {
  if (next === null || isLoading) return null;
  return (
    <Button variant="default" onClick={() => void more()}>
      {t('list.more')}
    </Button>
  );
}

interface ChosenProps {
  readonly count: number;
  readonly clear: () => void;
  readonly children: ReactNode;
}

function Chosen({ children, clear, count }: ChosenProps) {
  return (
    <div className="bulk" role="group" aria-label={t('list.chosen-actions')}>
      <strong role="status">{t('list.chosen', { count })}</strong>
      {children}
      <Button size="xs" variant="subtle" onClick={clear}>
        {t('list.choose-none')}
      </Button>
    </div>
  );
}

interface RowProps<T> {
  readonly name: string;
  readonly item: T;
  readonly columns: readonly Column<T>[];
  /** Undefined where rows are not chosen. */
  readonly isChosen: boolean | undefined;
  readonly onChosen: (name: string, isChosen: boolean) => void;
}

function Row<T>({ columns, isChosen, item, name, onChosen }: RowProps<T>) {
  return (
    <tr data-chosen={isChosen === true || undefined}>
      {isChosen !== undefined && (
        <td className="pick">
          <Checkbox
            aria-label={t('list.choose', { name })}
            checked={isChosen}
            onChange={(event) => onChosen(name, event.currentTarget.checked)}
          />
        </td>
      )}
      {columns.map(({ cell, head, isNumber }) => (
        <td key={head} data-head={t(head)} className={isNumber === true ? 'number' : undefined}>
          <div>{harmless(cell(item))}</div>
        </td>
      ))}
    </tr>
  );
}
