/** Goes anywhere by a few letters: screens, pages of settings, and people of the directory. */
import { Modal, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useEffect, useId, useState } from 'react';
import { harmlessName } from '../../kit/harmless-text.ts';
import { SCREENS } from '../screen-list.ts';
import { SETTING_NAMES } from '../screens/settings/setting-kinds.ts';
import { isOpenTo } from '../screen-context.ts';
import { t, word } from '../words/words.ts';
import { useFrame } from './frame-context.ts';

interface Entry {
  readonly route: string;
  readonly name: string;
  readonly group: string;
}

const SHOWN_MAX = 12;
const PEOPLE_MAX = 6;
const TYPING_MILLIS = 200;

export function CommandPalette({ onClose }: { readonly onClose: () => void }) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const id = useId();
  const people = useFoundPeople(text);
  const places = usePlaces();
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = ({ group, name }: Entry) => words.every((each) => `${name} ${group}`.toLowerCase().includes(each));
  const found = [...places.filter(fits).slice(0, SHOWN_MAX), ...people];
  const chosen = Math.min(at, found.length - 1);
  const go = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    location.hash = `#/${entry.route}`;
    onClose();
  };
  const press = (key: string): boolean => {
    if (key === 'ArrowDown') setAt(Math.min(chosen + 1, found.length - 1));
    else if (key === 'ArrowUp') setAt(Math.max(chosen - 1, 0));
    else if (key === 'Enter') go(found[chosen]);
    else return false;
    return true;
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('palette.title')}
      transitionProps={{ duration: 0 }}
      closeButtonProps={{ 'aria-label': t('action.close') }}
      size="lg"
      yOffset="8vh"
    >
      <TextInput
        data-autofocus
        role="combobox"
        aria-label={t('palette.title')}
        aria-expanded
        aria-controls={`${id}-list`}
        aria-activedescendant={found.length === 0 ? undefined : `${id}-${chosen}`}
        placeholder={t('palette.placeholder')}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (press(event.key)) event.preventDefault();
        }}
      />
      <ul className="palette" role="listbox" id={`${id}-list`} aria-label={t('palette.title')}>
        {found.map((entry, index) => (
          <li
            key={entry.route}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === chosen}
            onMouseEnter={() => setAt(index)}
            onClick={() => go(entry)}
          >
            <span>{entry.name}</span>
            <span className="palette-group">{entry.group}</span>
          </li>
        ))}
      </ul>
      <p role="status" className="state">
        {found.length === 0 ? t('palette.nothing') : null}
      </p>
    </Modal>
  );
}

function usePlaces(): readonly Entry[] {
  const { me } = useFrame();
  const screens = SCREENS.filter((screen) => isOpenTo(screen, me)).map((screen) => ({
    route: screen.path,
    name: t(screen.title),
    group: t(`section.${screen.section}`),
  }));
  if (!me.permissions.includes('settings:read')) return screens;
  const settings = SETTING_NAMES.map((name) => ({
    route: `settings/${name}`,
    name: word('settings', name),
    group: t('settings.title'),
  }));
  return [...screens, ...settings];
}

/** People whose names begin with what was typed, for those who may read the directory. */
function useFoundPeople(text: string): readonly Entry[] {
  const { me, session } = useFrame();
  const [found, setFound] = useState<readonly Entry[]>([]);
  const [typed] = useDebouncedValue(text.trim(), TYPING_MILLIS);
  const isAsked = typed.length > 1 && me.kind !== 'vendor' && me.permissions.includes('users:read');
  useEffect(() => {
    const leaving = new AbortController();
    if (!isAsked) {
      setFound([]);
      return undefined;
    }
    session.api.call('get /users', { query: { q: typed, limit: PEOPLE_MAX } }, leaving.signal).then(
      ({ items }) =>
        setFound(
          items.slice(0, PEOPLE_MAX).map(({ display_name: name, user }) => ({
            route: `people/${encodeURIComponent(user)}`,
            name: name === undefined ? user : `${harmlessName(name)} · ${user}`,
            group: t('people.title'),
          })),
        ),
      // The screens are found without the directory.
      () => setFound([]),
    );
    return () => leaving.abort();
  }, [isAsked, session, typed]);
  return found;
}
