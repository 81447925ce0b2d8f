/**
 * How long messages are kept: longer at once, shorter only after what would go was shown, the time was typed once more and a
 * day has passed, in which it is taken back here.
 */
import type { ReplyOf } from '../console-api.ts';
import { showDialog } from '../dialog.ts';
import { element, facts, workButton, type Child } from '../elements.ts';
import { allOf, form, input, select } from '../form.ts';
import { formatNumber, formatPeriod, t, when, word } from '../language.ts';
import { loaded } from '../listing.ts';
import type { ScreenContext } from '../screen-context.ts';

type Rule = ReplyOf<'get /retention'>;
type Unit = 'minutes' | 'hours' | 'days' | 'years';

const UNITS = allOf<Unit>({ minutes: true, hours: true, days: true, years: true });
const UNIT_SECONDS: Readonly<Record<Unit, number>> = { minutes: 60, hours: 3_600, days: 86_400, years: 365 * 86_400 };

/** The part of the settings screen; `changed` is called when the setting is another. */
export function retentionPart(stage: ScreenContext, changed: () => void): HTMLElement {
  const shown = loaded(
    async () => await stage.call('get /retention', {}),
    (rule) => [pendingPart(stage, rule, () => shown.reload()), formPart(stage, rule, () => shown.reload(), changed)],
  );
  return shown;
}

function pendingPart(stage: ScreenContext, { pending }: Rule, reload: () => void): Child {
  if (pending === null) return null;
  const { due_at: due, requested_at: at, requested_by: by, seconds } = pending;
  const left = Math.max(60, Math.ceil((Date.parse(due) - Date.now()) / 60_000) * 60);
  const back = workButton('retention.take-back', stage.notices, async () => {
    await stage.call('delete /retention/shortening', {});
    stage.notices.say('notice.done');
    reload();
  });
  return element(
    'section',
    { class: 'warning' },
    facts(
      ['retention.waits', formatPeriod(seconds)],
      ['retention.due', [when(due), ' (', t('retention.left', { time: formatLeft(left) }), ')']],
      ['retention.asked', [when(at), ' ', by]],
    ),
    stage.may('access:write') && element('div', { class: 'actions' }, back),
  );
}

/** Hours and minutes of a time below a day or two. */
function formatLeft(seconds: number): string {
  const [hours, rest] = [Math.floor(seconds / 3_600) * 3_600, seconds % 3_600];
  return [hours, rest]
    .filter((each) => each > 0)
    .map(formatPeriod)
    .join(' ');
}

function formPart(stage: ScreenContext, rule: Rule, reload: () => void, changed: () => void): Child {
  const now = rule.seconds;
  const kept = facts(['settings.retention', now === null ? t('holds.for-ever') : formatPeriod(now)]);
  if (!stage.may('access:write')) return kept;
  const unit = UNITS.findLast((each) => now !== null && now % UNIT_SECONDS[each] === 0) ?? 'days';
  const count = input({
    label: 'retention.count',
    name: 'seconds',
    hint: 'retention.count-hint',
    attributes: { inputmode: 'numeric', value: now === null ? '' : String(now / UNIT_SECONDS[unit]) },
  });
  const units = select({
    label: 'retention.unit',
    name: 'unit',
    value: unit,
    choices: UNITS.map((value) => ({ value, label: word('period', value) })),
  });
  const send = async () => {
    const seconds = count.text === undefined ? null : Number(count.text) * UNIT_SECONDS[units.value as Unit];
    if (seconds !== null && seconds < (now ?? Infinity)) return await askShorter(stage, seconds, reload);
    await stage.api.settings('retention', { seconds }, stage.signal);
    stage.notices.say('notice.done');
    changed();
    return undefined;
  };
  return [kept, form({ submit: 'action.save', parts: [count, units], send })];
}

/** What would go, and the time to be typed. */
async function askShorter(stage: ScreenContext, seconds: number, reload: () => void): Promise<void> {
  const preview = await stage.call('get /retention/preview', { query: { seconds: String(seconds) } });
  const counts = { messages: formatNumber(preview.messages), conversations: formatNumber(preview.conversations) };
  const confirm = input({
    label: 'retention.confirm',
    name: 'confirm',
    attributes: { required: true, maxlength: 100, spellcheck: 'false', autocapitalize: 'none' },
  });
  const send = async () => {
    await stage.call('put /retention/shortening', { body: { seconds, confirm: confirm.value } });
    dialog.close();
    stage.notices.say('notice.done');
    reload();
  };
  const dialog = showDialog(
    'retention.shorten',
    element('p', {}, t(preview.complete ? 'retention.goes' : 'retention.goes-at-least', counts)),
    element('p', {}, t('retention.day')),
    element('p', {}, t('retention.type'), ' ', element('code', {}, preview.confirm)),
    form({ submit: 'retention.shorten', parts: [confirm], send }),
  );
}
