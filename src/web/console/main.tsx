/** The console: makes the page safe, settles the language, and draws whoever is signed in, or the way in. */
import '@mantine/core/styles.css';
import '../kit/page.css';
import '../kit/appearance.css';
import './console.css';
import { MantineProvider } from '@mantine/core';
import { createRoot } from 'react-dom/client';
import { appearance } from '../kit/appearance.ts';
import { addWords, startLanguage } from '../kit/language.ts';
import { NONCE, securePage } from '../kit/page-security.ts';
import { COLORS, THEME } from '../kit/theme.ts';
import { ConsoleApplication } from './console-application.tsx';
import { ConsoleSession } from './session/console-session.ts';
import { CONSOLE_WORDS } from './words/words.ts';

securePage();
appearance.start();
await startLanguage();
await addWords(CONSOLE_WORDS);
const { api = '', protocol = '' } = document.documentElement.dataset;
const session = new ConsoleSession({ prefix: api, protocol });
const root = document.getElementById('app');
if (root === null) throw new Error('The page has no place for the console.');
createRoot(root).render(
  <MantineProvider
    theme={THEME}
    cssVariablesResolver={COLORS}
    defaultColorScheme="auto"
    {...(NONCE === '' ? {} : { getStyleNonce: () => NONCE })}
  >
    <ConsoleApplication session={session} />
  </MantineProvider>,
);
await session.start();
