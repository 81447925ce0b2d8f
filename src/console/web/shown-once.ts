/** Secrets that the server shows once: to copy or to keep as a file, and gone from the page when dismissed. */
import { button, element, fill } from './elements.ts';
import { t, type Key } from './language.ts';

export interface ShownOnce {
  readonly title: Key;
  readonly hint: Key;
  readonly secret: string;
  /** The name of the file that it can be kept as. */
  readonly file?: string;
  /** Called when its reader says that it is kept. */
  readonly kept?: () => void;
}

export function shownOnce({ title, hint, secret, file, kept }: ShownOnce): HTMLElement {
  const said = element('span', { role: 'status' });
  const text = element('pre', { class: 'secret', tabindex: '0', translate: 'no' }, secret);
  const card: HTMLElement = element(
    'section',
    { class: 'card once' },
    element('h2', {}, t(title)),
    element('p', {}, t(hint)),
    text,
    element(
      'div',
      { class: 'actions' },
      button('action.copy', () => void copy(secret, text, said)),
      file !== undefined && button('action.download', () => download(secret, file)),
      button(
        'action.kept',
        () => {
          card.remove();
          kept?.();
        },
        { class: 'primary' },
      ),
      said,
    ),
  );
  return card;
}

async function copy(secret: string, text: HTMLElement, said: HTMLElement): Promise<void> {
  try {
    await navigator.clipboard.writeText(secret);
    fill(said, t('once.copied'));
  } catch {
    // Without a secure context or the right there is no clipboard: what is selected can be copied by hand.
    document.getSelection()?.selectAllChildren(text);
    fill(said, t('once.selected'));
  }
}

function download(secret: string, file: string): void {
  const address = URL.createObjectURL(new Blob([`${secret}\n`], { type: 'text/plain' }));
  const anchor = element('a', { href: address, download: file });
  anchor.click();
  URL.revokeObjectURL(address);
}
