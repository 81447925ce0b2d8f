/** The screens of settings: what is set, of secrets only that they are; changing and trying it (CON-02, VND-10). */
import { useState } from 'react';
import type { SettingScreenName } from '#src/settings/setting-screens.ts';
import { Actions, BackLink, Facts, harmless, ScreenLink, StateBadge, When } from '../../kit/facts.tsx';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { LoadedPlace, useLoaded } from '../../kit/loaded.tsx';
import { Work } from '../../kit/work.tsx';
import type { SettingsTest, SettingsView } from '../../session/console-api.ts';
import { useScreenContext } from '../../screen-context.ts';
import { t, word } from '../../words/words.ts';
import { Retention } from './retention.tsx';
import {
  changesOf,
  labelOf,
  OWNERS,
  SETTING_KINDS,
  SETTING_NAMES,
  settingFields,
  TESTABLE,
  textOf,
} from './setting-kinds.ts';

export function SettingsScreen() {
  const [asked] = useScreenContext().place.rest;
  const name = SETTING_NAMES.find((each) => each === asked);
  if (name !== undefined) return <SettingsPage name={name} />;
  return (
    <ul className="cards">
      {SETTING_NAMES.map((each) => (
        <li key={each}>
          <ScreenLink to={`settings/${each}`}>{word('settings', each)}</ScreenLink>
        </li>
      ))}
    </ul>
  );
}

function SettingsPage({ name }: { readonly name: SettingScreenName }) {
  const context = useScreenContext();
  const view = useLoaded(async () => await context.api.settings(name, undefined, context.signal));
  return (
    <>
      <BackLink to="settings" label="settings.back" />
      <LoadedPlace of={view}>{(now) => <Settings name={name} view={now} reload={view.reload} />}</LoadedPlace>
    </>
  );
}

interface SettingsProps {
  readonly name: SettingScreenName;
  readonly view: SettingsView;
  readonly reload: () => Promise<void>;
}

function Settings({ name, reload, view }: SettingsProps) {
  const context = useScreenContext();
  const { changed_at: at, changed_by: by, effect, is_complete: isComplete, read_by: reader, say } = view;
  const mayWrite = context.may(name in OWNERS ? 'access:write' : 'settings:write');
  return (
    <>
      <h2>{word('settings', name)}</h2>
      <p lang="en">{harmless(say)}</p>
      <Facts
        of={{
          'column.state': (
            <StateBadge tone={isComplete ? 'good' : 'warning'}>
              {t(isComplete ? 'settings.complete' : 'settings.incomplete')}
            </StateBadge>
          ),
          'settings.read-by': <span lang="en">{reader}</span>,
          'settings.effect': <span lang="en">{effect}</span>,
          'settings.changed': at === null ? t('list.never') : <When at={at} by={by} />,
        }}
      />
      {name === 'retention' ? (
        <Retention changed={reload} />
      ) : mayWrite ? (
        <SettingsForm name={name} view={view} reload={reload} />
      ) : (
        <SettingValues name={name} view={view} />
      )}
      {mayWrite && name in TESTABLE && <TestPart name={name} />}
    </>
  );
}

function SettingsForm({ name, reload, view: { values } }: SettingsProps) {
  const context = useScreenContext();
  const kinds = SETTING_KINDS[name];
  return (
    <FieldsForm
      key={JSON.stringify(values)}
      fields={settingFields(kinds, values)}
      submit="action.save"
      send={async (typed) => {
        const { dropped } = await context.api.settings(name, changesOf(kinds, values, typed), context.signal);
        if (dropped.length === 0) context.notices.say('notice.done');
        else context.notices.say('settings.dropped', { fields: dropped.map(labelOf).join(', ') });
        await reload();
      }}
    />
  );
}

function SettingValues({ name, view: { values } }: Pick<SettingsProps, 'name' | 'view'>) {
  return (
    <dl className="facts">
      {Object.keys(SETTING_KINDS[name]).map((field) => (
        <div key={field}>
          <dt>{labelOf(field)}</dt>
          <dd>{harmless(textOf(values[field]))}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Trying what is saved. */
function TestPart({ name }: { readonly name: SettingScreenName }) {
  const context = useScreenContext();
  const [result, setResult] = useState<SettingsTest>();
  return (
    <Actions>
      <Work
        label="settings.test"
        isQuiet
        work={async () => setResult(await context.api.testSettings(name, context.signal))}
      />
      <span role="status">
        {result !== undefined && (
          <>
            <StateBadge tone={result.ok ? 'good' : 'bad'}>
              {t(result.ok ? 'settings.works' : 'settings.fails')}
            </StateBadge>{' '}
            {harmless(result.detail)} <When at={result.expires_at} />
          </>
        )}
      </span>
    </Actions>
  );
}
