/** The app for people: makes the page safe, settles the language, and draws whoever is signed in, or the way in. */
import '@mantine/core/styles.css';
import './kit/page.css';
import './kit/appearance.css';
import { MantineProvider } from '@mantine/core';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Application } from './application.tsx';
import { appearance } from './kit/appearance.ts';
import { startLanguage } from './kit/language.ts';
import { NONCE, securePage } from './kit/page-security.ts';
import { COLORS, THEME } from './kit/theme.ts';
import { keptSession } from './account/kept-session.ts';
import { SignInSession } from './account/sign-in-session.ts';

securePage();
appearance.start();
// Who comes back does not wait for the words before the script of the conversations is fetched. A failure shows where it is drawn.
if (keptSession() !== undefined) import('./chat/chat-application.tsx').catch(() => undefined);
const session = new SignInSession();
// Nor does the first request wait for them, which renews the session.
const isStarted = session.start();
await startLanguage();
const root = document.getElementById('app');
if (root === null) throw new Error('The page has no place for the app.');
createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={THEME}
      cssVariablesResolver={COLORS}
      defaultColorScheme="auto"
      {...(NONCE === '' ? {} : { getStyleNonce: () => NONCE })}
    >
      <Application session={session} />
    </MantineProvider>
  </StrictMode>,
);
await isStarted;
