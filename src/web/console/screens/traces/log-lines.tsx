/** Lines of the log, as its own screen and the overview show them. */
import { harmless, StateBadge, When, type Tone } from '../../kit/facts.tsx';
import type { ItemOf } from '../../session/console-api.ts';
import { t } from '../../words/words.ts';

export type Line = ItemOf<'get /logs'>;

const TONES: Readonly<Record<string, Tone>> = { error: 'bad', warn: 'warning' };

export function LevelBadge({ level }: { readonly level: string }) {
  return <StateBadge tone={TONES[level] ?? 'plain'}>{level}</StateBadge>;
}

export function LogLines({ lines }: { readonly lines: readonly Line[] }) {
  if (lines.length === 0) return <p className="state">{t('logs.empty')}</p>;
  return (
    <ol className="lines">
      {lines.map((line) => (
        <li key={`${line.time} ${line.thread} ${line.msg} ${JSON.stringify(line.fields)}`}>
          <When at={line.time} /> <LevelBadge level={line.level} /> {harmless(line.thread)} <LineText {...line} />
        </li>
      ))}
    </ol>
  );
}

export function LineText({ fields, msg }: Pick<Line, 'fields' | 'msg'>) {
  const more = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return (
    <>
      <span>{onOneLine(msg)}</span>
      {more.length > 0 && <code className="fields-of-line"> {onOneLine(more.join(' '))}</code>}
    </>
  );
}

/** Breaks and tabs are blanks on a page; what is not seen would hide a word from who searches for it. */
function onOneLine(text: string) {
  return harmless(text.replaceAll(/\s+/g, ' '));
}
