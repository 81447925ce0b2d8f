/** The screens behind the hash of the address, and the frame around them. */
import {
  createHashHistory,
  createRootRoute,
  createRoute,
  createRouter,
  RouterProvider,
  useRouterState,
} from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useMemo, useRef, type ComponentType } from 'react';
import { Dialogs } from '../kit/dialogs.ts';
import { DialogLayer } from '../kit/dialog-layer.tsx';
import { Waiting } from '../kit/loaded.tsx';
import { Notices } from '../kit/notices.ts';
import { SCREENS } from '../screen-list.ts';
import type { ConsoleSession, Me, Reason } from '../session/console-session.ts';
import {
  closedBy,
  isOpenTo,
  readPlace,
  ScreenContext,
  CurrentScreenContext,
  type Place,
  type Screen,
} from '../screen-context.ts';
import { t } from '../words/words.ts';
import { BrokenScreen } from './broken-screen.tsx';
import { ClosedScreen } from './closed-screen.tsx';
import { FrameContext, useFrame } from './frame-context.ts';
import { Shell } from './shell.tsx';

const rootRoute = createRootRoute({ component: Frame });
const routeTree = rootRoute.addChildren([
  createRoute({ getParentRoute: () => rootRoute, path: '/' }),
  // What a screen makes of the rest of its address is its own.
  createRoute({ getParentRoute: () => rootRoute, path: '$' }),
]);

function makeRouter() {
  return createRouter({
    routeTree,
    history: createHashHistory(),
    defaultErrorComponent: BrokenScreen,
    // A screen that breaks is a fault of ours: it is told to whoever looks into the browser's console.
    defaultOnCatch: (error) => reportError(error),
  });
}

export interface ConsoleScreensProps {
  readonly session: ConsoleSession;
  readonly me: Me;
  /** What is to be said at first, as to somebody who comes back from a provider. */
  readonly reason: Reason | undefined;
}

export function ConsoleScreens({ me, reason, session }: ConsoleScreensProps) {
  const router = useMemo(makeRouter, []);
  const frame = useMemo(() => ({ session, me, notices: new Notices(), dialogs: new Dialogs() }), [session, me]);
  useEffect(() => {
    if (reason === undefined) return;
    if ('said' in reason) frame.notices.say(reason.said);
    else frame.notices.complain(reason.failed);
  }, [frame, reason]);
  return (
    <FrameContext value={frame}>
      <RouterProvider router={router as never} />
    </FrameContext>
  );
}

const components = new Map<Screen, ComponentType>();

/** The component of a screen, whose script comes when it is shown for the first time. */
function componentOf(screen: Screen): ComponentType {
  const component = components.get(screen) ?? lazy(async () => ({ default: await screen.load() }));
  components.set(screen, component);
  return component;
}

/** What an address leads to, for somebody: the first screen of theirs where it says nothing. */
function screenAt(place: Place, me: Me): Screen | undefined {
  return place.path === ''
    ? SCREENS.find((screen) => isOpenTo(screen, me))
    : SCREENS.find(({ path }) => path === place.path);
}

function Frame() {
  const { dialogs, me } = useFrame();
  const address = useRouterState({ select: ({ location }) => location.href });
  const place = readPlace(address);
  const screen = screenAt(place, me);
  const closed = screen === undefined ? undefined : closedBy(screen, me);
  return (
    <Shell current={closed === undefined ? screen : undefined} title={screen?.title ?? 'shell.nowhere'}>
      {screen === undefined ? (
        <p className="state">{t('shell.unknown')}</p>
      ) : closed === undefined ? (
        <ScreenPlace key={[screen.path, ...place.rest].join('/')} screen={screen} place={place} />
      ) : (
        <ClosedScreen screen={screen} by={closed} />
      )}
      <ScreenEnd of={[place.path, ...place.rest].join('/')} />
      {screen === undefined || closed !== undefined ? <DialogLayer dialogs={dialogs} /> : null}
    </Shell>
  );
}

/** Nothing of the screen before goes on: what it said is gone and its dialogs are closed. */
function ScreenEnd({ of }: { readonly of: string }) {
  const { dialogs, notices } = useFrame();
  const last = useRef(of);
  useEffect(() => {
    if (last.current === of) return;
    last.current = of;
    notices.clear();
    dialogs.closeAll();
  }, [dialogs, notices, of]);
  return null;
}

function ScreenPlace({ place, screen }: { readonly screen: Screen; readonly place: Place }) {
  const { dialogs, me, notices, session } = useFrame();
  const leaving = useMemo(() => new AbortController(), []);
  const context = useMemo(
    () =>
      new ScreenContext({
        api: session.api,
        me,
        notices,
        dialogs,
        place,
        signal: leaving.signal,
        signOut: async () => await session.signOut(),
      }),
    // The place is that of the beginning: a screen that keeps its query in the address knows it itself.
    [session, me, notices, dialogs, leaving],
  );
  useEffect(() => () => leaving.abort(), [leaving]);
  const Component = componentOf(screen);
  return (
    <CurrentScreenContext value={context}>
      <Suspense fallback={<Loading />}>
        <Component />
      </Suspense>
      <DialogLayer dialogs={dialogs} />
    </CurrentScreenContext>
  );
}

/** Busy, so that whoever waits for the screen waits for its script, too. */
function Loading() {
  return (
    <div aria-busy>
      <Waiting />
    </div>
  );
}
