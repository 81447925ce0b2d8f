/** Questions before what cannot be undone, and forms that open over a screen. */
import { button, element, type Child } from './elements.ts';
import { t, type Key } from './language.ts';

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
  const heading = element('h2', { id: 'dialog-title' }, t(title));
  const dialog = element('dialog', { 'aria-labelledby': 'dialog-title' }, heading, ...children);
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Closes what is open over a screen that is left. */
export function closeDialogs(): void {
  for (const dialog of document.querySelectorAll('dialog')) dialog.close();
}
