/** The small parts of which screens are made: titled parts, names with values, states, instants, links. */
import { cloneElement, Fragment, isValidElement, type ReactNode } from 'react';
import { harmlessName, harmlessText } from '../../kit/harmless-text.ts';
import { formatTime } from '../words/formats.ts';
import { t, type Key } from '../words/words.ts';

/** What people named, as it is shown among the console's own words: without what turns the writing round, hides or piles up. */
export function harmless(node: ReactNode): ReactNode {
  if (typeof node === 'string') return node === '' ? '' : harmlessName(node);
  if (Array.isArray(node)) return node.map(harmless);
  if (!isValidElement<{ children?: ReactNode }>(node)) return node;
  if (typeof node.type !== 'string' && node.type !== Fragment) return node;
  const children = harmless(node.props.children);
  return Array.isArray(children) ? cloneElement(node, {}, ...children) : cloneElement(node, {}, children);
}

export type Tone = 'good' | 'warning' | 'bad' | 'plain';

/** A word that says how something is, in a colour that says it again. */
export function StateBadge({ children, tone }: { readonly children: ReactNode; readonly tone: Tone }) {
  return <span className={`badge ${tone}`}>{harmless(children)}</span>;
}

/** An instant in the reader's zone and form, with its machine-readable form beside it, and who did it then. */
export function When({ at, by }: { readonly at: string | null | undefined; readonly by?: ReactNode }) {
  const time = at === null || at === undefined ? Number.NaN : Date.parse(at);
  if (Number.isNaN(time)) return null;
  return (
    <>
      <time dateTime={at as string} title={at as string}>
        {formatTime(time)}
      </time>
      {by === undefined || by === null ? null : <> {harmless(by)}</>}
    </>
  );
}

/** When something was used last, and from where. */
export function LastUse({ address, at }: { readonly at: string | null; readonly address?: string | null }) {
  return at === null ? t('list.never') : <When at={at} by={address} />;
}

/** A link to a screen of this console. */
export function ScreenLink({ children, to }: { readonly to: string; readonly children: ReactNode }) {
  return <a href={`#/${to}`}>{harmless(children)}</a>;
}

/** The way back to the list that a page belongs to. */
export function BackLink({ label, to }: { readonly to: string; readonly label: Key }) {
  return (
    <p>
      <a href={`#/${to}`}>← {t(label)}</a>
    </p>
  );
}

/** A list of names and values. */
export function Facts({ of }: { readonly of: Readonly<Partial<Record<Key, ReactNode>>> }) {
  return (
    <dl className="facts">
      {Object.entries(of).map(([name, value]) => (
        <div key={name}>
          <dt>{t(name as Key)}</dt>
          <dd>{value === false || value === null || value === undefined || value === '' ? '—' : harmless(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A titled part of a screen. */
export function Part({ children, title }: { readonly title: Key; readonly children: ReactNode }) {
  return (
    <section className="part">
      <h2>{t(title)}</h2>
      {children}
    </section>
  );
}

export function Hint({ children }: { readonly children: ReactNode }) {
  return <p className="hint">{children}</p>;
}

export function Actions({ children }: { readonly children: ReactNode }) {
  return <div className="actions">{children}</div>;
}

/** Text of a machine, which scrolls by itself and is reached by key. */
export function Journal({ children, label }: { readonly children: string; readonly label: string }) {
  return (
    <pre className="journal" tabIndex={0} translate="no" role="region" aria-label={label}>
      {harmlessText(children)}
    </pre>
  );
}
