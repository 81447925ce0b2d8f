/** The look: colours, type and space, and where Mantine's own do not have the contrast that WCAG 2.2 asks for (1.4.3). */
import { createTheme, type CSSVariablesResolver } from '@mantine/core';

export const THEME = createTheme({
  primaryColor: 'blue',
  // White on these has 4.9:1 in both schemes; on Mantine's own shade it has 3.5.
  primaryShade: { light: 8, dark: 8 },
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Helvetica Neue", Arial, sans-serif',
  headings: { fontWeight: '650' },
  cursorType: 'pointer',
  respectReducedMotion: true,
});

export const COLORS: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#535b63',
    '--mantine-color-placeholder': '#5f676f',
    '--mantine-color-error': '#b32424',
    '--mantine-color-anchor': '#1864ab',
    '--parley-side': '#f3f5f8',
    '--parley-hover': '#e7ebf0',
    '--parley-chosen': '#d8e6f7',
    '--parley-line': '#dfe3e8',
    '--parley-quiet': '#eef1f4',
    '--parley-mine': '#1864ab',
    '--parley-mention': '#fff1c9',
    '--parley-code-keyword': '#a61e4d',
    '--parley-code-string': '#1b6e34',
    '--parley-code-value': '#0b5394',
    '--parley-code-name': '#6b21a8',
    '--parley-online': '#2b8a3e',
    '--parley-away': '#b35c00',
  },
  dark: {
    '--mantine-color-dimmed': '#a6adb6',
    '--mantine-color-placeholder': '#9aa2ab',
    '--mantine-color-error': '#ff8787',
    '--mantine-color-anchor': '#74b5f5',
    '--mantine-color-body': '#1b1e22',
    '--parley-side': '#15181b',
    '--parley-hover': '#262b31',
    '--parley-chosen': '#223a55',
    '--parley-line': '#30363d',
    '--parley-quiet': '#262b31',
    '--parley-mine': '#74b5f5',
    '--parley-mention': '#463a14',
    '--parley-code-keyword': '#ff9db8',
    '--parley-code-string': '#8ce99a',
    '--parley-code-value': '#8cc8ff',
    '--parley-code-name': '#d0b3ff',
    '--parley-online': '#51cf66',
    '--parley-away': '#ffa94d',
  },
});

/** What one answers a call by: white on it has 5.4:1, on Mantine’s darkest green 4.4. */
export const ANSWER_COLOR = '#1f7a34';
