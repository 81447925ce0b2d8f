/** The table of rules: all of its chapters. */
import { COMMANDS } from './chapters/commands.ts';
import { FORMS } from './chapters/forms.ts';
import { NAMES } from './chapters/names.ts';
import { PHRASES } from './chapters/phrases.ts';
import { TOKENS } from './chapters/tokens.ts';
import { PRODUCTS } from './chapters/products.ts';
import type { Row } from './rows.ts';

export const TABLE: readonly Row[] = [...NAMES, ...TOKENS, ...PHRASES, ...PRODUCTS, ...COMMANDS, ...FORMS];
