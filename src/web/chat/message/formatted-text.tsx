/**
 * The text of a message with its formatting: Markdown is read into a tree, and the tree is drawn element by element. Nothing is
 * made of markup on the way, so there is nothing to sanitise: what looks like HTML is text.
 */
import { Anchor, Blockquote, Code, List, Text } from '@mantine/core';
import { Lexer, type Token, type Tokens } from 'marked';
import { Fragment, memo, type ReactNode } from 'react';
import type { Mention } from '#src/protocol/conversations/messages.ts';
import { harmlessText } from '../../kit/harmless-text.ts';
import { CodeBlock } from '../code/code-block.tsx';
import { drawsCustomEmoji, withCustomEmoji } from '../emoji/custom-emoji.tsx';
import { useName } from '../state/people.ts';
import { useChat } from '../chat-context.ts';
import { fillPlaces, PLACE, withPlaces } from './mention-places.ts';
import { webAddress } from './web-address.ts';

/** A list in a list in a quote: beyond this what is inside is text. */
const DEPTH_MAX = 12;

interface Drawing {
  readonly mentions: readonly Mention[];
  readonly source: string;
  /** Whether names of the installation's emoji are drawn as pictures. */
  readonly hasEmoji: boolean;
}

export interface FormattedTextProps {
  readonly text: string;
  readonly mentions?: readonly Mention[] | undefined;
}

export const FormattedText = memo(function FormattedText({ text, mentions = [] }: FormattedTextProps) {
  const tokens = tokensOf(harmlessText(withPlaces(text, mentions)));
  return (
    <div className="parley-text">
      {drawAll(tokens, { mentions, source: text, hasEmoji: drawsCustomEmoji(text) }, 0)}
    </div>
  );
});

/** Of texts that were read into trees, the last ones: who comes back to a room, or scrolls back, sees them again. */
const TREES_KEPT_MAX = 500;
/** A longer text is read again: what is kept stays small. */
const TREE_TEXT_MAX = 2_000;
const trees = new Map<string, readonly Token[]>();

function tokensOf(text: string): readonly Token[] {
  if (BARE.test(text)) return [{ type: 'paragraph', raw: text, text, tokens: [{ type: 'text', raw: text, text }] }];
  const kept = trees.get(text);
  if (kept !== undefined) return kept;
  const tokens = lexed(text);
  if (text.length > TREE_TEXT_MAX) return tokens;
  if (trees.size >= TREES_KEPT_MAX) trees.delete(trees.keys().next().value as string);
  trees.set(text, tokens);
  return tokens;
}

/** Words and commas alone mean nothing to Markdown, and no address begins without a point or a colon. */
const BARE = /^[\p{L}\p{N}][\p{L}\p{M}\p{N} ,;?!'’"«»—–…]*$/u;

/** A text that is nested beyond what the reader of Markdown can follow, as 16,000 `>` in a row, is shown as it was written. */
function lexed(text: string): readonly Token[] {
  try {
    return Lexer.lex(text, { gfm: true, breaks: true });
  } catch {
    return [{ type: 'text', raw: text, text }];
  }
}

function drawAll(tokens: readonly Token[], drawing: Drawing, depth: number): ReactNode[] {
  // Called and not made components of: of each token that would be one more for every message.
  return tokens.map((token, index) => <Fragment key={index}>{drawn({ token, drawing, depth })}</Fragment>);
}

interface DrawnProps {
  readonly token: Token;
  readonly drawing: Drawing;
  readonly depth: number;
}

function drawn({ token, drawing, depth }: DrawnProps): ReactNode {
  if (depth > DEPTH_MAX) return withMentions(token.raw, drawing);
  const inside = () => drawAll((token as Tokens.Generic).tokens ?? [], drawing, depth + 1);
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'paragraph':
      return <p>{inside()}</p>;
    case 'heading':
      return (
        <p>
          <strong>{inside()}</strong>
        </p>
      );
    case 'strong':
      return <strong>{inside()}</strong>;
    case 'em':
      return <em>{inside()}</em>;
    case 'del':
      return <s>{inside()}</s>;
    case 'br':
      return <br />;
    case 'codespan':
      return <Code>{plain((token as Tokens.Codespan).text, drawing)}</Code>;
    case 'code':
      return (
        <CodeBlock text={plain((token as Tokens.Code).text, drawing)} language={languageOf(token as Tokens.Code)} />
      );
    case 'blockquote':
      return <Blockquote p="xs">{inside()}</Blockquote>;
    case 'list':
      return <DrawnList token={token as Tokens.List} drawing={drawing} depth={depth} />;
    case 'link':
      return <DrawnLink token={token as Tokens.Link} drawing={drawing} depth={depth} />;
    case 'escape':
      return withMentions((token as Tokens.Escape).text, drawing);
    case 'text':
      return 'tokens' in token && token.tokens !== undefined
        ? inside()
        : withMentions((token as Tokens.Text).text, drawing, drawing.hasEmoji);
    default:
      // Tables, pictures of elsewhere, HTML: shown as they were written.
      return token.type === 'hr' ? <hr /> : withMentions(token.raw, drawing);
  }
}

/** What the fence calls it: of `js title=x` the first word. */
function languageOf({ lang }: Tokens.Code): string | undefined {
  return /^[\w+#-]{1,32}/.exec(lang ?? '')?.[0]?.toLowerCase();
}

function DrawnList({ token, drawing, depth }: DrawnProps & { readonly token: Tokens.List }) {
  return (
    <List
      type={token.ordered ? 'ordered' : 'unordered'}
      {...(token.ordered && token.start !== '' ? { start: token.start } : {})}
    >
      {token.items.map((item, index) => (
        <List.Item key={index}>{drawAll(item.tokens, drawing, depth + 1)}</List.Item>
      ))}
    </List>
  );
}

function DrawnLink({ token, drawing, depth }: DrawnProps & { readonly token: Tokens.Link }) {
  const href = webAddress(token.href);
  if (href === undefined) return withMentions(token.raw, drawing);
  // An address by itself is shown as it is, also where it seems to name an emoji.
  const isNamed = token.raw.startsWith('[');
  return (
    <Anchor href={href} target="_blank" rel="noopener noreferrer nofollow" title={href} underline="always" inherit>
      {isNamed ? drawAll(token.tokens, drawing, depth + 1) : withMentions(token.text, drawing)}
    </Anchor>
  );
}

/** The text with the mentions as they were written: nobody is mentioned inside code. */
function plain(text: string, { mentions, source }: Drawing): string {
  return fillPlaces(text, mentions, ({ offset, length }) => source.slice(offset, offset + length));
}

function withMentions(text: string, { mentions }: Drawing, hasEmoji = false): ReactNode {
  const worded = (part: string) => (hasEmoji ? withCustomEmoji(part) : part);
  const parts = text.split(PLACE);
  if (parts.length === 1) return worded(text);
  return parts.map((part, index) => {
    const mention = index % 2 === 1 ? mentions[Number(part)] : undefined;
    if (mention !== undefined) return <MentionMark key={index} mention={mention} />;
    return <Fragment key={index}>{worded(part)}</Fragment>;
  });
}

function MentionMark({ mention }: { readonly mention: Mention }) {
  return 'all' in mention ? (
    <span className="parley-mention parley-me">@all</span>
  ) : (
    <PersonMark user={mention.username} />
  );
}

function PersonMark({ user }: { readonly user: string }) {
  const { me, people } = useChat();
  const name = useName(people, user);
  return (
    <Text span inherit className={user === me ? 'parley-mention parley-me' : 'parley-mention'} title={user}>
      @<bdi>{name}</bdi>
    </Text>
  );
}
