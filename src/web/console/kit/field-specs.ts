/** How a form is described: its fields by their names in the request, by which the server says which one is to blame. */
import type { Key } from '../words/words.ts';

export interface Choice {
  readonly value: string;
  readonly label: string;
}

/** The members of a union, all of them: one that is missing does not compile. */
export function allOf<T extends string>(members: Readonly<Record<T, true>>): T[] {
  return Object.keys(members) as T[];
}

/** Texts that were typed so far, by the names of their fields. */
export type Typed = Readonly<Record<string, string>>;

interface FieldBase {
  /** A text of the dictionary, or a name of the server's own as it is. */
  readonly label: Key | { readonly raw: string };
  readonly hint?: Key | undefined;
  readonly isRequired?: boolean;
  /** Whether it is asked for, by what was typed elsewhere. */
  readonly isShown?: (typed: Typed) => boolean;
}

export interface LineField extends FieldBase {
  readonly kind?: 'line' | 'text';
  readonly value?: string;
  readonly type?: 'text' | 'password' | 'search' | 'email' | 'url' | 'tel' | 'number' | 'datetime-local';
  readonly inputMode?: 'numeric';
  readonly pattern?: string;
  readonly maxLength?: number;
  readonly minLength?: number;
  readonly min?: number;
  readonly max?: number;
  readonly rows?: number;
  readonly autoComplete?: string;
  /** A name or a word of a machine: nothing is spelled or capitalised for whoever types it. */
  readonly isName?: boolean;
}

/** The id of a conversation, found by the title of its room. */
export interface ConversationFieldSpec extends FieldBase {
  readonly kind: 'conversation';
  readonly value?: string;
}

/** One of a few. */
export interface ChoiceField extends FieldBase {
  readonly kind: 'choice';
  readonly choices: readonly Choice[];
  readonly value?: string | undefined;
}

/** Several of a few, as boxes to tick. */
export interface TicksField extends FieldBase {
  readonly kind: 'ticks';
  readonly choices: readonly Choice[];
  readonly ticked?: readonly string[] | undefined;
}

export interface FileField extends FieldBase {
  readonly kind: 'file';
  readonly accept: string;
}

export type FieldSpec = LineField | ConversationFieldSpec | ChoiceField | TicksField | FileField;
export type FieldSpecs = Readonly<Record<string, FieldSpec>>;

export type ValueOf<F extends FieldSpec> = F extends { readonly kind: 'ticks' }
  ? readonly string[]
  : F extends { readonly kind: 'file' }
    ? File | undefined
    : string;
export type ValuesOf<S extends FieldSpecs> = { readonly [Name in keyof S]: ValueOf<S[Name]> };

/** A field of a person's name. */
export const USER_FIELD = { label: 'people.user', isRequired: true, maxLength: 64, isName: true } as const;
export const NAME_FIELD = { label: 'column.name', isRequired: true, maxLength: 100 } as const;

export function firstValue(spec: FieldSpec): string | readonly string[] | undefined {
  if (spec.kind === 'ticks') return spec.ticked ?? [];
  if (spec.kind === 'file') return undefined;
  if (spec.kind === 'choice') return spec.value ?? spec.choices[0]?.value ?? '';
  return spec.value ?? '';
}
