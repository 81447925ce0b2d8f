/**
 * What a row of the table is. It says at what it begins (a name, a prefix, a phrase, an option), what its value is, and
 * shows by examples what goes (between « and ») and what stays; the examples are its tests.
 */
import type { SecretClass } from '../spans.ts';

/** What the name of a value says about it. */
export type KeyClass =
  | 'none'
  | 'secret'
  | 'password'
  | 'authorization'
  | 'cookie'
  | 'text'
  | 'user'
  | 'user-id'
  | 'directory'
  | 'address'
  | 'phone'
  | 'code'
  | 'id'
  | 'audit'
  | 'socket-address'
  | 'pair-name'
  | 'pair-value'
  | 'people';

/** Lines in which what stands between « and » goes, and lines that stay. */
export interface Examples {
  readonly go: readonly string[];
  readonly stay?: readonly string[];
}

/** A name of a key in lower case without its joints: `apikey`. With `isLast` also the last word of a longer name. */
export interface NameRow extends Examples {
  readonly kind: 'name';
  readonly name: string;
  readonly class: KeyClass;
  readonly isLast: boolean;
}

/** A token that begins with a literal of its own; the pattern says what follows. Upper lengths are open. */
export interface TokenRow extends Examples {
  readonly kind: 'token';
  readonly literal: string;
  readonly pattern: string;
  readonly class: SecretClass;
}

/** What a place of a phrase holds. */
export type SlotClass =
  | 'user'
  | 'dialled'
  | 'secret'
  | 'text'
  | 'authorization'
  | 'url-credentials'
  | 'api-key'
  | 'platform-token';

/** A phrase of a program with places for people and secrets: `User <user> not allowed because`. */
export interface PhraseRow extends Examples {
  readonly kind: 'phrase';
  readonly phrase: string;
}

/** A line that begins with a form of its own: a phrase with places, and a sign at a place that tells it from other lines. */
export interface LineRow extends Examples {
  readonly kind: 'line';
  readonly line: string;
  readonly sign: string;
  /** Bytes of the line before the sign. */
  readonly at: number;
}

/** An option on a command line, of the programs that a pattern names; `glued` has its value right behind it. */
export interface OptionRow extends Examples {
  readonly kind: 'option';
  readonly option: string;
  readonly programs: string;
  /** `flag`: of these programs the option has no value. */
  readonly class: 'user' | 'secret' | 'cookie' | 'login' | 'flag';
  readonly glue?: 'glued' | 'both';
}

/** A token that is known by its form alone, from the beginning of a word of so many characters on. */
export interface ShapeRow extends Examples {
  readonly kind: 'shape';
  readonly pattern: string;
  readonly width: readonly [least: number, most: number];
  readonly class: SecretClass;
}

/** A word that says that the value of a secret is none: `expired`. */
export interface WordRow extends Examples {
  readonly kind: 'word';
  readonly word: string;
}

/** What needs more than a pattern: rows of SQL, credentials that say by what they hold that they are some. */
export type Special =
  | 'bearer'
  | 'basic'
  | 'sasl'
  | 'plain'
  | 'told'
  | 'told-code'
  | 'insert'
  | 'columns'
  | 'failing'
  | 'behind-column'
  | 'changed'
  | 'recipient'
  | 'bracketed'
  | 'terminal';

export interface SpecialRow extends Examples {
  readonly kind: 'special';
  readonly literal: string;
  readonly does: Special;
}

/** What programs write before a value that is none of it: `Some(`. */
export interface WrapperRow extends Examples {
  readonly kind: 'wrapper';
  readonly pattern: string;
}

/** A sign between a key and its value other than `=` and `:`, and what stands before the key where it is one. */
export interface SignRow extends Examples {
  readonly kind: 'sign';
  readonly sign: string;
  readonly before?: string;
}

export type Row =
  | NameRow
  | ShapeRow
  | TokenRow
  | PhraseRow
  | LineRow
  | OptionRow
  | WordRow
  | SpecialRow
  | WrapperRow
  | SignRow;
