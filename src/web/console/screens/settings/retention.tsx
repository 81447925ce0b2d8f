/**
 * How long messages are kept: longer at once, shorter only after what would go was shown, the time was typed once more and a
 * day has passed, in which it is taken back here.
 */
import { Actions, Facts, When } from '../../kit/facts.tsx';
import { allOf } from '../../kit/field-specs.ts';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { LoadedPlace, useLoaded } from '../../kit/loaded.tsx';
import { Work } from '../../kit/work.tsx';
import type { ReplyOf } from '../../session/console-api.ts';
import { useScreenContext, type ScreenContext } from '../../screen-context.ts';
import { formatNumber, formatPeriod, given } from '../../words/formats.ts';
import { t, word } from '../../words/words.ts';

type Rule = ReplyOf<'get /retention'>;
type Unit = 'minutes' | 'hours' | 'days' | 'years';

const UNITS = allOf<Unit>({ minutes: true, hours: true, days: true, years: true });
const UNIT_SECONDS: Readonly<Record<Unit, number>> = { minutes: 60, hours: 3_600, days: 86_400, years: 365 * 86_400 };

/** The part of the settings screen; `changed` is called when the setting is another. */
export function Retention({ changed }: { readonly changed: () => Promise<void> }) {
  const context = useScreenContext();
  const rule = useLoaded(async () => await context.call('get /retention', {}));
  return (
    <LoadedPlace of={rule}>
      {(now) => (
        <>
          <Pending rule={now} reload={rule.reload} />
          <RetentionForm
            rule={now}
            reload={async () => {
              await rule.reload();
              await changed();
            }}
          />
        </>
      )}
    </LoadedPlace>
  );
}

interface RuleProps {
  readonly rule: Rule;
  readonly reload: () => Promise<void>;
}

function Pending({ reload, rule: { pending } }: RuleProps) {
  const context = useScreenContext();
  if (pending === null) return null;
  const { due_at: due, requested_at: at, requested_by: by, seconds } = pending;
  const left = Math.max(60, Math.ceil((Date.parse(due) - Date.now()) / 60_000) * 60);
  return (
    <section className="part warning">
      <Facts
        of={{
          'retention.waits': formatPeriod(seconds),
          'retention.due': <When at={due} by={`(${t('retention.left', { time: formatLeft(left) })})`} />,
          'retention.asked': <When at={at} by={by} />,
        }}
      />
      {context.may('access:write') && (
        <Actions>
          <Work
            label="retention.take-back"
            work={async () => await context.call('delete /retention/shortening', {})}
            done={reload}
          />
        </Actions>
      )}
    </section>
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

function RetentionForm({ reload, rule: { seconds: now } }: RuleProps) {
  const context = useScreenContext();
  const kept = <Facts of={{ 'settings.retention': now === null ? t('holds.for-ever') : formatPeriod(now) }} />;
  if (!context.may('access:write')) return kept;
  const unit = UNITS.findLast((each) => now !== null && now % UNIT_SECONDS[each] === 0) ?? 'days';
  return (
    <>
      {kept}
      <FieldsForm
        key={now}
        fields={{
          seconds: {
            label: 'retention.count',
            hint: 'retention.count-hint',
            inputMode: 'numeric',
            value: now === null ? '' : String(now / UNIT_SECONDS[unit]),
          },
          unit: {
            kind: 'choice',
            label: 'retention.unit',
            value: unit,
            choices: UNITS.map((value) => ({ value, label: word('period', value) })),
          },
        }}
        submit="action.save"
        send={async (typed) => {
          const count = given(typed.seconds);
          const seconds = count === undefined ? null : Number(count) * UNIT_SECONDS[typed.unit as Unit];
          if (seconds !== null && seconds < (now ?? Infinity)) return await askShorter(context, seconds, reload);
          await context.api.settings('retention', { seconds }, context.signal);
          context.notices.say('notice.done');
          return await reload();
        }}
      />
    </>
  );
}

/** What would go, and the time to be typed. */
async function askShorter(context: ScreenContext, seconds: number, reload: () => Promise<void>): Promise<void> {
  const preview = await context.call('get /retention/preview', { query: { seconds: String(seconds) } });
  const counts = { messages: formatNumber(preview.messages), conversations: formatNumber(preview.conversations) };
  void context.dialogs.show({
    title: 'retention.shorten',
    content: (close) => (
      <>
        <p>{t(preview.complete ? 'retention.goes' : 'retention.goes-at-least', counts)}</p>
        <p>{t('retention.day')}</p>
        <p>
          {t('retention.type')} <code>{preview.confirm}</code>
        </p>
        <FieldsForm
          fields={{ confirm: { label: 'retention.confirm', isRequired: true, maxLength: 100, isName: true } }}
          submit="retention.shorten"
          isDanger
          send={async ({ confirm }) => {
            await context.call('put /retention/shortening', { body: { seconds, confirm } });
            close();
            context.notices.say('notice.done');
            await reload();
          }}
        />
      </>
    ),
  });
}
