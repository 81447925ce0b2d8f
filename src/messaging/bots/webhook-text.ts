/** The one text of a post by webhook: what senders made for Slack write as attachments and blocks is made into lines. */
import { Refusal } from '#src/protocol/errors.ts';
import { TEXT_LENGTH_MAX } from '#src/protocol/limits.ts';
import type { WebhookPost } from '#src/protocol/bots/webhooks.ts';

type Piece = Readonly<Record<string, unknown>>;

/** What nobody but the server says (GOV-03); wherever it stands. */
const IDENTITY_FIELDS = ['sender', 'from', 'user'] as const;

/**
 * The text and what attachments say, a paragraph each. Blocks that say something stand in the text's place: beside them
 * it is what notifications show. The work is bounded by the body's own bounds: each value in it is looked at once.
 * @throws Refusal `field_invalid` where nothing is said or too much, `field_unknown` for a piece that says who speaks.
 */
export function webhookText({ attachments = [], blocks = [], text = '' }: WebhookPost): string {
  const blockTexts = blocks.map((block, at) => blockText(block, `blocks.${at}`));
  const own = joined(blockTexts, '\n\n') || text;
  const whole = joined([own, ...attachments.map((one, at) => attachmentText(one, `attachments.${at}`))], '\n\n');
  if (whole === '') throw new Refusal('field_invalid', { field: 'text' });
  if (own.length > TEXT_LENGTH_MAX) throw new Refusal('field_invalid', { field: 'blocks' });
  if (whole.length > TEXT_LENGTH_MAX) throw new Refusal('field_invalid', { field: 'attachments' });
  return whole;
}

/** Its lines, or what it falls back to where it has none. */
function attachmentText(attachment: Piece, path: string): string {
  assertNamesNobody(attachment, path);
  const { fallback, pretext, text, title, title_link: link } = attachment;
  const head = textOf(title) !== '' && textOf(link) !== '' ? `${textOf(title)} (${textOf(link)})` : textOf(title);
  const fields = piecesOf(attachment, 'fields', path).map(([field, at]) => {
    assertNamesNobody(field, at);
    return joined([textOf(field['title']), textOf(field['value'])], ': ');
  });
  const blocks = piecesOf(attachment, 'blocks', path).map(([block, at]) => blockText(block, at));
  const lines = joined([textOf(pretext), head, textOf(text), ...fields, joined(blocks, '\n\n')], '\n');
  return lines === '' ? textOf(fallback) : lines;
}

/** The texts in a block of any type, in their order; those of one line of rich text run together. */
function blockText(block: Piece, path: string): string {
  assertNamesNobody(block, path);
  const { text, type, url } = block;
  const isLine = typeof type === 'string' && /^rich_text_(?:section|preformatted|quote)$/.test(type);
  const own = isPiece(text) ? blockText(text, `${path}.text`) : textOf(text);
  const inner = ['fields', 'elements'].flatMap((list) => piecesOf(block, list, path));
  const said = joined([own, ...inner.map(([piece, at]) => blockText(piece, at))], isLine ? '' : '\n');
  return said === '' && type === 'link' ? textOf(url) : said;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const joined = (texts: readonly string[], between: string): string => texts.filter((one) => one !== '').join(between);

/** The objects in a list of a piece, each with its path; what is none says nothing. */
function piecesOf(piece: Piece, list: string, path: string): [Piece, string][] {
  const found = piece[list];
  if (!Array.isArray(found)) return [];
  return found.flatMap((one: unknown, at): [Piece, string][] => (isPiece(one) ? [[one, `${path}.${list}.${at}`]] : []));
}

function isPiece(value: unknown): value is Piece {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function assertNamesNobody(piece: Piece, path: string): void {
  const field = IDENTITY_FIELDS.find((name) => Object.hasOwn(piece, name));
  if (field !== undefined) throw new Refusal('field_unknown', { field: `${path}.${field}` });
}
