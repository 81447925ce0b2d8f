/** Conversations, for who is signed in: the routes behind the hash of the address, and the frame around them. */
import {
  createHashHistory,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  RouterProvider,
  useRouterState,
} from '@tanstack/react-router';
import { useHotkeys } from '@mantine/hooks';
import { lazy, Suspense, useEffect, useState, type ComponentType } from 'react';
import type { ParleyClient } from '#src/client/parley-client.ts';
import { readCalendarAddress } from '../calendar/calendar-address.ts';
import { CALENDAR_WORDS } from '../calendar/calendar-words.ts';
import { addWords } from '../kit/language.ts';
import { useBreakpoint } from '../kit/breakpoint.ts';
import { useObserved } from '../kit/observable.ts';
import { MEETING_WORDS } from '../meetings/meeting-words.ts';
import './chat.css';
import { BrokenScreen } from './broken-screen.tsx';
import { ChatContext, makeChat, useChat } from './chat-context.ts';
import { ConnectionBanner } from './connection-banner.tsx';
import { ConversationScreen } from './conversation/conversation-screen.tsx';
import { JoinScreen } from './join-screen.tsx';
import { NothingChosen } from './nothing-chosen.tsx';
import { usePresence } from './presence.ts';
import { readSearchWords } from './search/search-address.ts';
import { Sidebar } from './sidebar/sidebar.tsx';
import { SignOutContext } from './sign-out.ts';

const ShortcutsDialog = lazy(async () => ({
  default: (await import('./shortcuts/shortcuts-dialog.tsx')).ShortcutsDialog,
}));

/** Nobody waits for it, and most have none. */
const SecurityNotices = lazy(async () => ({
  default: (await import('../account/security-notices.tsx')).SecurityNotices,
}));

const LobbyCards = lazy(async () => ({ default: (await import('../meetings/lobby-cards.tsx')).LobbyCards }));

const CallsLayer = lazy(async () => ({ default: (await import('../calls/calls-layer.tsx')).CallsLayer }));

const rootRoute = createRootRoute({ component: Frame });
const indexRoute = createRoute({ getParentRoute: () => rootRoute, path: '/', component: NothingChosen });
const conversationRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/c/$conv',
  /** The message that somebody comes to see. */
  validateSearch: ({ at }: Record<string, unknown>): { at?: number | undefined } =>
    Number.isSafeInteger(at) && Number(at) > 0 ? { at: Number(at) } : {},
  component: function Conversation() {
    const { conv } = conversationRoute.useParams();
    const { at } = conversationRoute.useSearch();
    return <ConversationScreen key={conv} conv={conv} at={at} />;
  },
});
/** Not everybody searches at each visit: its script comes when it is opened. */
const searchRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/search',
  validateSearch: readSearchWords,
  component: lazyRouteComponent(async () => ({ default: (await import('./search/search-screen.tsx')).SearchScreen })),
});
const joinRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/join/$link',
  component: function Join() {
    return <JoinScreen link={joinRoute.useParams().link} />;
  },
});
const meetingRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/meeting/$link',
  component: lazyRouteComponent(async () => {
    const [{ MeetingScreen }] = await Promise.all([import('../meetings/meeting-screen.tsx'), addWords(MEETING_WORDS)]);
    return {
      default: function Meeting() {
        const { link } = meetingRoute.useParams();
        return <MeetingScreen key={link} link={link} />;
      },
    };
  }),
});
const settingsRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/settings',
  component: lazyRouteComponent(async () => ({
    default: (await import('../account/settings-screen.tsx')).SettingsScreen,
  })),
});
const calendarRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/calendar',
  validateSearch: readCalendarAddress,
  component: lazyRouteComponent(async () => {
    const [{ CalendarScreen }] = await Promise.all([
      import('../calendar/calendar-screen.tsx'),
      addWords(CALENDAR_WORDS),
    ]);
    return { default: CalendarScreen };
  }),
});
const routeTree = rootRoute.addChildren([
  indexRoute,
  conversationRoute,
  searchRoute,
  joinRoute,
  meetingRoute,
  settingsRoute,
  calendarRoute,
]);
const router = createRouter({
  routeTree,
  history: createHashHistory(),
  defaultNotFoundComponent: NothingChosen,
  defaultErrorComponent: BrokenScreen,
  // A screen that breaks is a fault of ours: it is told to whoever looks into the browser's console.
  defaultOnCatch: (error) => reportError(error),
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

export interface ChatApplicationProps {
  readonly client: ParleyClient;
  /** Whether this tab has the socket of all of the browser’s. */
  readonly leads: () => boolean;
  readonly onSignOut: () => void;
}

export function ChatApplication({ client, leads, onSignOut }: ChatApplicationProps) {
  const [chat] = useState(() => makeChat(client, leads));
  useEffect(() => chat.pushes.start((place) => void router.navigate({ href: place.slice(1) })), [chat]);
  return (
    <ChatContext value={chat}>
      <SignOutContext value={() => void Promise.all([chat.calls.leave(), chat.deletions.flush()]).finally(onSignOut)}>
        <RouterProvider router={router} />
      </SignOutContext>
    </ChatContext>
  );
}

/** On a narrow screen either the list or what was chosen is there; on a wide one both are. */
function Frame() {
  usePresence();
  const { calls } = useChat();
  const isList = useRouterState({ select: ({ location }) => location.pathname === '/' });
  // Where the list is all that is there, it is what the page is about, and the empty place beside it is not shown.
  const isNarrow = useBreakpoint() === 'narrow';
  const isCovered = useObserved(calls, () => calls.isCovering);
  return (
    <div className="parley-frame" data-place={isList ? 'list' : 'content'}>
      <ConnectionBanner />
      <Suspense>
        <SecurityNotices />
      </Suspense>
      <div className="parley-panes" inert={isCovered} role={isList && isNarrow ? 'main' : undefined}>
        <Sidebar />
        <main className="parley-content" id="content">
          <Outlet />
        </main>
      </div>
      <SpokenText />
      <Shortcuts />
      <CallsOver />
      <LobbyOver />
      <RemindersOver />
    </div>
  );
}

/** Calls, once there is anything of them. */
function CallsOver() {
  const { calls } = useChat();
  const center = useObserved(calls, () => calls.center);
  return <Suspense>{center !== undefined && <CallsLayer center={center} />}</Suspense>;
}

/** Who wants to come into a meeting of the person's, once somebody does. */
function LobbyOver() {
  const { lobby } = useChat();
  const isWaitedFor = useObserved(lobby, () => lobby.waiting.length > 0);
  return <Suspense>{isWaitedFor && <LobbyCards />}</Suspense>;
}

/** Reminders, once one is due. Where their script does not come, the next one tries again. */
function RemindersOver() {
  const { reminders } = useChat();
  const due = useObserved(reminders, () => reminders.due);
  const [Cards, setCards] = useState<ComponentType>();
  useEffect(() => reminders.start(), [reminders]);
  useEffect(() => {
    if (due.length === 0 || Cards !== undefined) return;
    Promise.all([import('../calendar/reminders/reminder-cards.tsx'), addWords(CALENDAR_WORDS)]).then(
      ([{ ReminderCards }]) => setCards(() => ReminderCards),
      (error: unknown) => reportError(error),
    );
  }, [due, Cards]);
  return Cards === undefined ? null : <Cards />;
}

/** The list of keys, by a key. */
function Shortcuts() {
  const [isOpen, setOpen] = useState(false);
  useHotkeys([['mod+/', () => setOpen(true)]], []);
  return <Suspense>{isOpen && <ShortcutsDialog onClose={() => setOpen(false)} />}</Suspense>;
}

function SpokenText() {
  const { spoken } = useChat();
  const text = useObserved(spoken, () => spoken.text);
  return (
    <div className="parley-unseen" role="log" aria-live="polite">
      {text}
    </div>
  );
}
