/** A text with Markdown as one line without it: what the marks say is lost where there is no room for it, and they would be in the way. */
import { Lexer, type Token, type Tokens } from 'marked';

/** Nested beyond this the rest is as it was written, as in a message itself. */
const DEPTH_MAX = 12;

/** Marks that stand in pairs: where the line is cut, the second one may be missing. */
const LEFT_OPEN = /\*\*|~~|`+/gu;

/** The words alone, with their blanks one by one. */
export function plainLine(text: string): string {
  return withoutPairs(wordsOf(text)).replaceAll(/\s+/gu, ' ').trim();
}

/** A part of a text without the marks that stand in pairs, wherever it was cut. */
export function withoutPairs(text: string): string {
  return text.replaceAll(LEFT_OPEN, '');
}

function wordsOf(text: string): string {
  try {
    return allWords(Lexer.lex(text, { gfm: true, breaks: true }), 0);
  } catch {
    // Nested beyond what the reader of Markdown can follow.
    return text;
  }
}

function allWords(tokens: readonly Token[], depth: number): string {
  return tokens.map((token) => words(token, depth)).join('');
}

function words(token: Token, depth: number): string {
  if (depth > DEPTH_MAX) return token.raw;
  const { text, tokens } = token as Tokens.Generic;
  switch (token.type) {
    case 'space':
    case 'br':
    case 'hr':
    case 'def':
      return ' ';
    case 'list':
      return (token as Tokens.List).items.map((item) => `${allWords(item.tokens, depth + 1)} `).join('');
    case 'code':
      return `${String(text)} `;
    case 'codespan':
    case 'escape':
      return String(text);
    case 'paragraph':
    case 'heading':
    case 'blockquote':
      return `${allWords(tokens ?? [], depth + 1)} `;
    case 'strong':
    case 'em':
    case 'del':
    case 'link':
    case 'text':
      return tokens === undefined ? String(text) : allWords(tokens, depth + 1);
    default:
      // Tables, pictures of elsewhere, HTML: as they were written, as in the message itself.
      return token.raw;
  }
}
