/** Elements of the page, made by hand: text is always text, so nothing that the server says can become markup. */
import type { ParleyError } from '#src/client/parley-error.ts';
import { t, type Key } from './language.ts';

export type Child = Node | string | number | null | undefined | false | readonly Child[];
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** An element with attributes and children. True stands for a bare attribute; false and undefined for none. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    // Handlers and styles in attributes are what the page's policy forbids.
    if (name.startsWith('on') || name === 'style') throw new Error(`The attribute ${name} is not for elements.`);
    if (value === undefined || value === false) continue;
    made.setAttribute(name, value === true ? '' : String(value));
  }
  made.append(...nodesOf(children));
  return made;
}

/** Puts children in the place of those that an element has. */
export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren(...nodesOf(children));
}

function nodesOf(children: readonly Child[]): (Node | string)[] {
  return children.flatMap((child): (Node | string)[] => {
    if (child === null || child === undefined || child === false) return [];
    if (Array.isArray(child)) return nodesOf(child as readonly Child[]);
    return [typeof child === 'number' ? String(child) : (child as Node | string)];
  });
}

/** A button that does something at once. */
export function button(label: Key, act: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const made = element('button', { type: 'button', ...attributes }, t(label));
  made.addEventListener('click', act);
  return made;
}

/** What failing work is told to. */
export interface Complaints {
  complain(error: ParleyError): void;
}

/** A button whose work takes a while: it cannot be pressed twice meanwhile, and a failure is told. */
export function workButton(
  label: Key,
  complaints: Complaints,
  work: () => Promise<void>,
  attributes: Attributes = {},
): HTMLButtonElement {
  const made: HTMLButtonElement = button(label, () => void press(), attributes);
  const press = async () => {
    if (made.getAttribute('aria-disabled') === 'true') return;
    // Not `disabled`, which would take the focus away from who pressed it by key.
    made.setAttribute('aria-disabled', 'true');
    try {
      await work();
    } catch (error) {
      complaints.complain(error as ParleyError);
    } finally {
      made.removeAttribute('aria-disabled');
    }
  };
  return made;
}

/** A link to a screen of this console. */
export function link(route: string, ...children: Child[]): HTMLAnchorElement {
  return element('a', { href: `#/${route}` }, ...children);
}

/** A list of names and values. */
export function facts(...entries: readonly (readonly [name: Key, value: Child])[]): HTMLElement {
  return element(
    'dl',
    { class: 'facts' },
    entries.map(([name, value]) =>
      element('div', {}, element('dt', {}, t(name)), element('dd', {}, value === false ? '—' : (value ?? '—'))),
    ),
  );
}

/** A word that says how something is, in a colour that says it again. */
export function badge(text: string, tone: 'good' | 'warning' | 'bad' | 'plain'): HTMLElement {
  return element('span', { class: `badge ${tone}` }, text);
}

/** A titled part of a screen. */
export function part(title: Key, ...children: Child[]): HTMLElement {
  return element('section', {}, element('h2', {}, t(title)), ...children);
}
