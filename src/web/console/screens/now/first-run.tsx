/** What a new installation still lacks, for its owner: each point leads to where it is done, and the list goes when all are. */
import { Button, Paper } from '@mantine/core';
import { Check, Circle } from 'lucide-react';
import { useState } from 'react';
import type { SettingScreenName } from '#src/settings/setting-screens.ts';
import { ScreenLink } from '../../kit/facts.tsx';
import { useLoaded } from '../../kit/loaded.tsx';
import { useScreenContext, type ScreenContext } from '../../screen-context.ts';
import { t, type Key } from '../../words/words.ts';

/** Where somebody says that the list is to be gone, on this device. */
const HIDDEN_AS = 'parley.console.first-run';

interface Point {
  readonly label: Key;
  readonly route: string;
  readonly isDone: boolean;
}

const SETTINGS: readonly (readonly [label: Key, names: readonly SettingScreenName[]])[] = [
  ['first-run.tls', ['tls']],
  ['first-run.mail', ['mail']],
  ['first-run.push', ['apns', 'fcm']],
  ['first-run.turn', ['turn']],
  ['first-run.store', ['external-stores']],
];

async function readPoints(context: ScreenContext): Promise<readonly Point[]> {
  const settings = SETTINGS.map(async ([label, names]): Promise<Point> => {
    const views = await Promise.all(
      names.map(async (name) => await context.api.settings(name, undefined, context.signal)),
    );
    return { label, route: `settings/${names[0] ?? ''}`, isDone: views.some((view) => view.is_complete) };
  });
  const [breakGlass, encryption, owners] = await Promise.all([
    context.call('get /break-glass', {}),
    context.call('get /encryption', {}),
    ownersWithFactor(context),
  ]);
  return [
    ...(await Promise.all(settings)),
    {
      label: 'first-run.owner',
      route: 'people',
      isDone: owners > 1,
    },
    { label: 'first-run.break-glass', route: 'break-glass', isDone: breakGlass.is_set },
    { label: 'first-run.encryption', route: 'encryption', isDone: encryption.state !== 'off' },
  ];
}

/** People who are looked at to find a second owner: an installation so young has few with a second factor. */
const LOOKED_AT_MAX = 20;

/** Owners who have set up their second factor: those who get in when they are needed. */
async function ownersWithFactor(context: ScreenContext): Promise<number> {
  const { items } = await context.call('get /second-factors', { query: {} });
  const people = items.slice(0, LOOKED_AT_MAX).map(async ({ user }) => {
    return await context.call('get /users/:username', { parameters: { username: user } });
  });
  return (await Promise.all(people)).filter(({ role }) => role === 'owner').length;
}

export function FirstRun() {
  const context = useScreenContext();
  const [isHidden, setHidden] = useState(() => localStorage.getItem(HIDDEN_AS) !== null);
  // One that cannot be read is one that is not shown: it is a help, and everything in it has a screen of its own.
  const { value: points } = useLoaded(async () => (isHidden ? [] : await readPoints(context).catch(() => [])));
  if (isHidden || points === undefined || points.every(({ isDone }) => isDone)) return null;
  const hide = () => {
    localStorage.setItem(HIDDEN_AS, 'hidden');
    setHidden(true);
  };
  const done = points.filter(({ isDone }) => isDone).length;
  return (
    <Paper withBorder p="md" component="section" aria-labelledby="first-run" className="first-run">
      <h2 id="first-run">{t('first-run.title')}</h2>
      <p>{t('first-run.done', { done, all: points.length })}</p>
      <ul>
        {points.map(({ isDone, label, route }) => (
          <li key={label}>
            {isDone ? <Check size={16} aria-label={t('first-run.is-done')} /> : <Circle size={16} aria-hidden />}
            {isDone ? t(label) : <ScreenLink to={route}>{t(label)}</ScreenLink>}
          </li>
        ))}
      </ul>
      <Button variant="subtle" size="xs" onClick={hide}>
        {t('first-run.hide')}
      </Button>
    </Paper>
  );
}
