/** The audit trail, with filters that stand in the address (CON-04). */
import type { ItemOf, ReplyOf } from '../console-api.ts';
import { confirmed } from '../dialog.ts';
import { element, facts, part, type Child } from '../elements.ts';
import { form, input, select } from '../form.ts';
import { formatNumber, t, when, word } from '../language.ts';
import { Listing, loaded } from '../listing.ts';
import type { Screen, ScreenContext } from '../screen-context.ts';
import { given } from './logs.ts';

type Entry = ItemOf<'get /audit'>;
type Keeping = ReplyOf<'get /audit/retention'>;

const TRAILS = ['all', 'agents', 'calendar'] as const;
const FILTERS = ['event', 'actor', 'about', 'prefix'] as const;

export const auditScreen: Screen = {
  path: 'audit',
  title: 'audit.title',
  section: 'traces',
  needs: 'audit:read',
  isForVendors: true,
  show: (stage) => {
    const { query } = stage.place;
    const trail = select({
      label: 'audit.trail',
      name: 'trail',
      value: query.get('trail') ?? 'all',
      choices: TRAILS.map((value) => ({ value, label: word('audit.trails', value) })),
    });
    const filters = FILTERS.map((name) =>
      input({
        label: `audit.${name}`,
        name,
        attributes: { type: 'search', maxlength: 200, value: query.get(name) ?? '' },
      }),
    );
    const times = (['from', 'to'] as const).map((name) =>
      input({
        label: `audit.${name}`,
        name,
        attributes: { type: 'datetime-local', step: 1, value: query.get(name) ?? '' },
      }),
    );
    const asked = () => ({
      ...Object.fromEntries(filters.map(({ name, text }) => [name, text])),
      ...Object.fromEntries(times.map(({ name, text }) => [name, instantOf(text)])),
    });
    const listing = new Listing<Entry>({
      caption: 'audit.title',
      empty: 'audit.empty',
      load: async (after) => {
        const filter = { query: { ...asked(), after } };
        if (trail.value === 'agents') return await stage.call('get /agents/audit', filter);
        if (trail.value === 'calendar') return await stage.call('get /calendar/audit', filter);
        return await stage.call('get /audit', filter);
      },
      columns: [
        { head: 'column.time', cell: ({ at }) => when(at) },
        { head: 'audit.event', cell: ({ event }) => element('code', {}, event) },
        { head: 'audit.actor', cell: ({ actor }) => actor },
        { head: 'column.address', cell: ({ address }) => address },
        { head: 'audit.about', cell: ({ about }) => about },
        {
          head: 'column.details',
          cell: ({ details }) => element('code', { class: 'fields' }, JSON.stringify(details)),
        },
      ],
    });
    const send = async () => {
      const fields = Object.fromEntries([trail, ...filters, ...times].map(({ name, text }) => [name, text]));
      stage.keepQuery(new URLSearchParams(given({ ...fields, trail: trail.value === 'all' ? '' : trail.value })));
      await listing.reload();
    };
    const parts = [trail, ...filters, ...times];
    const filter = form({ submit: 'action.show', parts, send, attributes: { class: 'filter', role: 'search' } });
    const hint = element('p', { class: 'hint' }, t('audit.hint'));
    // Closed to vendor tokens, which see the entries alone.
    return [hint, filter, listing.element, ...(stage.isVendor ? [] : [keepingPart(stage)])];
  },
};

/** How long the trail is kept: read by all who read it, set by owners. */
function keepingPart(stage: ScreenContext): HTMLElement {
  const keeping = loaded(
    async () => await stage.call('get /audit/retention', {}),
    (now) => showKeeping(stage, now, () => keeping.reload()),
  );
  return part('audit.keeping', keeping);
}

function showKeeping(
  stage: ScreenContext,
  { days: before, trimmed_through: trimmed }: Keeping,
  reload: () => void,
): Child[] {
  const stated = facts(
    ['audit.days', before === null ? t('holds.for-ever') : formatNumber(before)],
    ['audit.trimmed', trimmed === 0 ? t('list.never') : trimmed],
  );
  if (!stage.may('access:write')) return [stated];
  const field = input({
    label: 'audit.days',
    name: 'days',
    hint: 'audit.days-hint',
    // The pattern keeps out what is no number: it would be sent as null, which is for ever.
    attributes: { inputmode: 'numeric', pattern: '[0-9]+', maxlength: 4, value: before ?? '' },
  });
  const send = async () => {
    const days = field.text === undefined ? null : Number(field.text);
    const isShorter = days !== null && (before === null || days < before);
    if (isShorter && !(await confirmed('audit.keeping', t('audit.keep-asked', { days }), 'action.save'))) return;
    await stage.call('put /audit/retention', { body: { days } });
    stage.notices.say('notice.done');
    reload();
  };
  return [stated, form({ submit: 'action.save', parts: [field], send })];
}

/** What a field for date and time holds, in the reader's zone, as an instant. */
export function instantOf(local: string | undefined): string | undefined {
  const millis = local === undefined ? Number.NaN : new Date(local).getTime();
  return Number.isNaN(millis) ? undefined : new Date(millis).toISOString();
}
