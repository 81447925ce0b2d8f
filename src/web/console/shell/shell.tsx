/** The frame around every screen: who is signed in, the menu of what they may see, and the place for the screen. */
import { ActionIcon, Button, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { LogOut, Menu as MenuIcon, Moon, Search, Sun } from 'lucide-react';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { harmlessName } from '../../kit/harmless-text.ts';
import { Logo } from '../../kit/logo.tsx';
import { useObserved } from '../../kit/observable.ts';
import { SCREENS } from '../screen-list.ts';
import { closedBy, isOpenTo, SECTIONS, type Screen } from '../screen-context.ts';
import { t, word, type Key } from '../words/words.ts';
import { CommandPalette } from './command-palette.tsx';
import { useFrame } from './frame-context.ts';
import { LanguageSelect } from './language-select.tsx';

export interface ShellProps {
  readonly current: Screen | undefined;
  readonly title: Key;
  readonly children: ReactNode;
}

export function Shell({ children, current, title }: ShellProps) {
  const { me } = useFrame();
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const heading = useHeading(title);
  useHotkeys([['mod+K', () => setPaletteOpen(true)]], []);
  return (
    <div className="shell">
      <a
        className="skip"
        href="#main"
        onClick={(event) => {
          // The address is where somebody is in the console, so skipping moves the focus and leaves the address alone.
          event.preventDefault();
          heading.current?.focus();
        }}
      >
        {t('shell.skip')}
      </a>
      <Header
        isMenuOpen={isMenuOpen}
        turnMenu={() => setMenuOpen(!isMenuOpen)}
        openPalette={() => setPaletteOpen(true)}
      />
      <nav aria-label={t('shell.menu')} id="menu" data-open={isMenuOpen || undefined}>
        <Menu current={current} onChosen={() => setMenuOpen(false)} />
      </nav>
      <main id="main">
        {me.kind === 'vendor' && <p className="banner">{t('shell.depersonalised')}</p>}
        {me.kind === 'break_glass' && <p className="banner warning">{t('shell.break-glass')}</p>}
        <h1 tabIndex={-1} ref={heading}>
          {t(title)}
        </h1>
        <NoticePlace />
        <div className="screen">{children}</div>
      </main>
      {isPaletteOpen && <CommandPalette onClose={() => setPaletteOpen(false)} />}
    </div>
  );
}

/** The focus goes to the heading of a screen when it is shown, so that a screen reader begins with it. */
function useHeading(title: Key) {
  const heading = useRef<HTMLHeadingElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${t(title)} · ${t('shell.title')}`;
    heading.current?.focus({ preventScroll: isFirst.current });
    isFirst.current = false;
  }, [title]);
  return heading;
}

interface HeaderProps {
  readonly isMenuOpen: boolean;
  readonly turnMenu: () => void;
  readonly openPalette: () => void;
}

function Header({ isMenuOpen, openPalette, turnMenu }: HeaderProps) {
  const { me, session } = useFrame();
  return (
    <header>
      <ActionIcon
        className="menu-button"
        variant="subtle"
        size="lg"
        aria-label={t('shell.menu')}
        aria-expanded={isMenuOpen}
        aria-controls="menu"
        onClick={turnMenu}
      >
        <MenuIcon size={20} />
      </ActionIcon>
      <a className="brand" href="#/" aria-label={t('shell.title')}>
        <Logo size={26} />
        <strong>{t('shell.title')}</strong>
      </a>
      <Button
        className="palette-button"
        variant="default"
        size="xs"
        aria-label={t('palette.open')}
        leftSection={<Search size={14} />}
        onClick={openPalette}
      >
        {t('palette.open')}
      </Button>
      <span className="who">{`${harmlessName(me.name)} · ${word('role', me.role)}`}</span>
      <SchemeButton />
      <LanguageSelect />
      <Button
        variant="default"
        size="xs"
        aria-label={t('shell.sign-out')}
        leftSection={<LogOut size={14} />}
        onClick={() => void session.signOut()}
      >
        {t('shell.sign-out')}
      </Button>
    </header>
  );
}

function SchemeButton() {
  const { setColorScheme } = useMantineColorScheme();
  const isDark = useComputedColorScheme('light') === 'dark';
  return (
    <ActionIcon
      variant="default"
      size="md"
      aria-label={t(isDark ? 'shell.light' : 'shell.dark')}
      onClick={() => setColorScheme(isDark ? 'light' : 'dark')}
    >
      {isDark ? <Sun size={16} /> : <Moon size={16} />}
    </ActionIcon>
  );
}

interface MenuProps {
  readonly current: Screen | undefined;
  readonly onChosen: () => void;
}

function Menu({ current, onChosen }: MenuProps) {
  const { me } = useFrame();
  const place = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    // Newer browsers answer a promise, which is no clean-up.
    place.current?.scrollIntoView({ block: 'nearest' });
  }, [current]);
  const closed = SCREENS.filter((screen) => closedBy(screen, me) === 'vendor');
  return (
    <>
      {SECTIONS.map((section) => {
        const screens = SCREENS.filter((screen) => screen.section === section && isOpenTo(screen, me));
        if (screens.length === 0) return null;
        return (
          <div key={section} className="menu-group">
            <h2 id={`section-${section}`}>{t(`section.${section}`)}</h2>
            <ul aria-labelledby={`section-${section}`}>
              {screens.map((screen) => (
                <li key={screen.path}>
                  <a
                    href={`#/${screen.path}`}
                    aria-current={screen === current ? 'page' : undefined}
                    ref={screen === current ? place : undefined}
                    onClick={onChosen}
                  >
                    {t(screen.title)}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        );
      })}
      {closed.length > 0 && (
        <details className="closed">
          <summary>{t('closed.menu')}</summary>
          <p>{t('closed.menu-why')}</p>
          <ul>
            {closed.map((screen) => (
              <li key={screen.path}>{t(screen.title)}</li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

/** Both are there from the start: a live region that appears with its text is not read out. */
function NoticePlace() {
  const { notices } = useFrame();
  const done = useObserved(notices, () => notices.done);
  const wrong = useObserved(notices, () => notices.wrong);
  return (
    <div className="notices">
      <p role="status" className="notice good">
        {done}
      </p>
      <p role="alert" className="notice bad">
        {wrong}
      </p>
    </div>
  );
}
