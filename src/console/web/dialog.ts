/** Questions before what cannot be undone, and forms that open over a screen. */
import { button, element, type Child } from './elements.ts';
import { t, type Key } from './language.ts';

/** Makes ids of headings unique in the page. */
let opened = 0;

/** Asks whether to go on. Escape and the first button, which has the focus, say no. */
export async function confirmed(title: Key, text: string, yes: Key): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const dialog = open(title, element('p', {}, text));
  const answer = (isYes: boolean) => () => {
    resolve(isYes);
    dialog.close();
  };
  const no = button('action.cancel', answer(false));
  dialog.append(element('div', { class: 'actions' }, no, button(yes, answer(true), { class: 'danger' })));
  dialog.addEventListener('close', () => resolve(false));
  no.focus();
  return await promise;
}

/** Shows something over the screen, with a button to close it. Closing gives the focus back to where it was. */
export function showDialog(title: Key, ...children: Child[]): HTMLDialogElement {
  const dialog = open(title, ...children);
  dialog.append(
    element(
      'div',
      { class: 'actions' },
      button('action.close', () => dialog.close()),
    ),
  );
  return dialog;
}

function open(title: Key, ...children: Child[]): HTMLDialogElement {
  opened += 1;
  // Of its own: a question may be asked over a form that is open.
  const id = `dialog-title-${opened}`;
  const dialog = element('dialog', { 'aria-labelledby': id }, element('h2', { id }, t(title)), ...children);
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Closes what is open over a screen that is left. */
export function closeDialogs(): void {
  for (const dialog of document.querySelectorAll('dialog')) dialog.close();
}
