/** Something that is read from the server, with its states: loading, shown, gone wrong and tried again. */
import { Button, Skeleton, Stack } from '@mantine/core';
import { useCallback, useEffect, useRef, useState, type ReactNode } from 'react';
import { sentenceOf, t } from '../words/words.ts';

export interface Loaded<T> {
  readonly value: T | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
  /** Reads it afresh; what is shown stays until the answer is there. Never fails: what went wrong is shown. */
  readonly reload: () => Promise<void>;
}

/** Reads something now, and again when one of `of` is another. */
export function useLoaded<T>(read: () => Promise<T>, of: readonly unknown[] = []): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, 'reload'>>({
    value: undefined,
    error: undefined,
    isLoading: true,
  });
  const reading = useRef(0);
  const latest = useRef(read);
  latest.current = read;
  const reload = useCallback(async () => {
    reading.current += 1;
    const own = reading.current;
    setState(({ value }) => ({ value, error: undefined, isLoading: true }));
    let next: Omit<Loaded<T>, 'reload'>;
    try {
      next = { value: await latest.current(), error: undefined, isLoading: false };
    } catch (error) {
      next = { value: undefined, error, isLoading: false };
    }
    // A late answer to an earlier question changes nothing.
    if (own === reading.current) setState(next);
  }, []);
  const asked = of.map(String).join('\u0000');
  useEffect(() => {
    void reload();
  }, [asked, reload]);
  return { ...state, reload };
}

export interface LoadedPlaceProps<T> {
  readonly of: Loaded<T>;
  readonly children: (value: T) => ReactNode;
}

export function LoadedPlace<T>({ children, of: { error, isLoading, reload, value } }: LoadedPlaceProps<T>) {
  return (
    <div className="loaded" aria-busy={isLoading || undefined}>
      {value === undefined && error === undefined && isLoading && <Waiting />}
      {error === undefined ? null : <Failed error={error} retry={() => void reload()} />}
      {value === undefined ? null : children(value)}
    </div>
  );
}

export function Waiting() {
  return (
    <Stack gap="xs" role="status" aria-label={t('list.loading')}>
      <Skeleton height={18} width="60%" animate={false} />
      <Skeleton height={18} width="85%" animate={false} />
      <Skeleton height={18} width="40%" animate={false} />
    </Stack>
  );
}

export function Failed({ error, retry }: { readonly error: unknown; readonly retry: () => void }) {
  return (
    <div className="failed">
      <p role="alert" className="bad">
        {sentenceOf(error)}
      </p>
      <Button variant="default" onClick={retry}>
        {t('action.retry')}
      </Button>
    </div>
  );
}
