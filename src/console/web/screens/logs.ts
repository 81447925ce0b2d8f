/** The server's last log lines. */
import type { ItemOf } from '../console-api.ts';
import { badge, element, type Child } from '../elements.ts';
import { form, input, select } from '../form.ts';
import { t, when } from '../language.ts';
import { Listing } from '../listing.ts';
import type { Screen } from '../screen-context.ts';

type LogLine = ItemOf<'get /logs'>;

const TONES: Readonly<Record<string, 'bad' | 'warning'>> = { error: 'bad', warn: 'warning' };

export const logsScreen: Screen = {
  path: 'logs',
  title: 'logs.title',
  section: 'traces',
  needs: 'audit:read',
  isForVendors: true,
  show: (stage) => {
    const { query } = stage.place;
    const level = select({
      label: 'logs.level',
      name: 'level',
      value: query.get('level') ?? '',
      choices: ['', 'error', 'warn', 'info', 'debug'].map((value) => ({ value, label: value || t('list.all') })),
    });
    const text = input({
      label: 'logs.text',
      name: 'text',
      attributes: { type: 'search', maxlength: 200, value: query.get('text') ?? '' },
    });
    const listing = new Listing<LogLine>({
      caption: 'logs.title',
      empty: 'logs.empty',
      load: async (after) => await stage.call('get /logs', { query: { level: level.value, text: text.text, after } }),
      columns: [
        { head: 'column.time', cell: ({ time }) => when(time) },
        { head: 'logs.level', cell: ({ level: of }) => badge(of, TONES[of] ?? 'plain') },
        { head: 'logs.thread', cell: ({ thread }) => thread },
        { head: 'logs.line', cell: ({ msg, fields }) => lineOf(msg, fields) },
      ],
    });
    const send = async () => {
      stage.keepQuery(new URLSearchParams(given({ level: level.value, text: text.text })));
      await listing.reload();
    };
    const filter = form({
      submit: 'action.show',
      parts: [level, text],
      send,
      attributes: { class: 'filter', role: 'search' },
    });
    return [filter, listing.element];
  },
};

/** Of some values those that were given. */
export function given(values: Readonly<Record<string, string | undefined>>): [string, string][] {
  return Object.entries(values).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== '');
}

/** Lines as the overview shows them. */
export function logLines(lines: readonly LogLine[]): HTMLElement {
  if (lines.length === 0) return element('p', { class: 'state' }, t('logs.empty'));
  return element(
    'ol',
    { class: 'lines' },
    lines.map(({ level, time, thread, msg, fields }) =>
      element('li', {}, when(time), ' ', badge(level, TONES[level] ?? 'plain'), ' ', thread, ' ', lineOf(msg, fields)),
    ),
  );
}

function lineOf(msg: string, fields: Readonly<Record<string, unknown>>): Child {
  const more = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return [element('span', {}, msg), more.length > 0 && element('code', { class: 'fields' }, ` ${more.join(' ')}`)];
}
