/** Forms: labelled fields, one submission at a time, and what went wrong said beside the field that is to blame. */
import { ParleyError, toParleyError } from '#src/client/parley-error.ts';
import { element, fill, type Attributes, type Child } from './elements.ts';
import { sentenceOf, t, type Key } from './language.ts';

/** Makes ids of fields unique in the page. */
let made = 0;

export interface Choice {
  readonly value: string;
  readonly label: string;
}

/** The members of a union, all of them: one that is missing does not compile. */
export function allOf<T extends string>(members: Readonly<Record<T, true>>): T[] {
  return Object.keys(members) as T[];
}

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

export interface FieldOptions {
  /** A text of the dictionary, or a name of the server's own as it is. */
  readonly label: Key | { readonly raw: string };
  /** Its name in the request, by which the server says which field is to blame. */
  readonly name: string;
  readonly hint?: Key;
  readonly attributes?: Attributes;
}

/** A labelled control, its hint and its error. */
export class Field {
  readonly name: string;
  readonly element: HTMLElement;
  readonly #control: Control;
  readonly #error: HTMLElement;

  constructor(control: Control, { label, name, hint }: FieldOptions) {
    made += 1;
    const id = `field-${made}`;
    this.name = name;
    this.#control = control;
    this.#error = element('p', { id: `${id}-error`, class: 'field-error' });
    control.id = id;
    control.setAttribute('name', name);
    const described = hint === undefined ? `${id}-error` : `${id}-hint ${id}-error`;
    control.setAttribute('aria-describedby', described);
    this.element = element(
      'div',
      { class: 'field' },
      element('label', { for: id }, typeof label === 'string' ? t(label) : label.raw),
      control,
      hint !== undefined && element('p', { id: `${id}-hint`, class: 'hint' }, t(hint)),
      this.#error,
    );
  }

  get value(): string {
    return this.#control.value;
  }

  set value(value: string) {
    this.#control.value = value;
  }

  /** The value without blanks around it; undefined where nothing is left. */
  get text(): string | undefined {
    const text = this.#control.value.trim();
    return text === '' ? undefined : text;
  }

  onChange(changed: () => void): void {
    this.#control.addEventListener('input', changed);
  }

  focus(): void {
    this.#control.focus();
  }

  blame(sentence: string | undefined): void {
    fill(this.#error, sentence);
    if (sentence === undefined) this.#control.removeAttribute('aria-invalid');
    else this.#control.setAttribute('aria-invalid', 'true');
  }
}

export function input(options: FieldOptions): Field {
  return new Field(element('input', { type: 'text', autocomplete: 'off', ...options.attributes }), options);
}

export function textarea(options: FieldOptions): Field {
  return new Field(element('textarea', { rows: 4, ...options.attributes }), options);
}

export function select(
  options: FieldOptions & { readonly choices: readonly Choice[]; readonly value?: string },
): Field {
  const chosen = options.value ?? options.choices[0]?.value;
  const control = element(
    'select',
    { ...options.attributes },
    options.choices.map(({ value, label }) => element('option', { value, selected: value === chosen }, label)),
  );
  return new Field(control, options);
}

/** Several of a few, as boxes to tick. */
export class Ticks {
  readonly element: HTMLElement;
  readonly #boxes: readonly HTMLInputElement[];

  constructor(legend: Key, choices: readonly Choice[], ticked: readonly string[] = []) {
    this.#boxes = choices.map(({ value }) =>
      element('input', { type: 'checkbox', value, checked: ticked.includes(value) }),
    );
    this.element = element(
      'fieldset',
      {},
      element('legend', {}, t(legend)),
      choices.map(({ label }, at) => element('label', { class: 'tick' }, this.#boxes[at], ' ', label)),
    );
  }

  get values(): string[] {
    return this.#boxes.filter((box) => box.checked).map((box) => box.value);
  }
}

export interface FormOptions {
  readonly submit: Key;
  readonly parts: readonly (Field | Ticks | Node)[];
  /** Sends the form; what it throws is shown in the form. */
  readonly send: () => Promise<void>;
  /** Beside the button. */
  readonly more?: Child;
  readonly attributes?: Attributes;
}

/** A form that is sent once at a time. Nothing is lost when sending fails. */
export function form({ submit, parts, send, more, attributes = {} }: FormOptions): HTMLFormElement {
  const fields = parts.filter((part) => part instanceof Field);
  const wrong = element('p', { role: 'alert', class: 'form-error' });
  const button = element('button', { type: 'submit', class: 'primary' }, t(submit));
  const shown = element(
    'form',
    attributes,
    parts.map((part) => (part instanceof Field || part instanceof Ticks ? part.element : part)),
    wrong,
    element('div', { class: 'actions' }, button, more),
  );
  const tell = (thrown: unknown) => {
    const error = thrown instanceof ParleyError ? thrown : toParleyError(thrown);
    const blamed = fields.find(({ name }) => name === error.field);
    if (blamed === undefined) fill(wrong, sentenceOf(error));
    else blamed.blame(sentenceOf({ code: error.code, message: error.message }));
    blamed?.focus();
  };
  const work = async () => {
    if (button.getAttribute('aria-disabled') === 'true') return;
    for (const field of fields) field.blame(undefined);
    fill(wrong);
    button.setAttribute('aria-disabled', 'true');
    try {
      await send();
    } catch (error) {
      tell(error);
    } finally {
      button.removeAttribute('aria-disabled');
    }
  };
  shown.addEventListener('submit', (event) => {
    event.preventDefault();
    void work();
  });
  return shown;
}
