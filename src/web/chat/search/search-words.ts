/** A search as it is typed: words, and `in:`, `from:`, `has:file`, `after:` and `before:`, which narrow it. */

/** What is searched for. Days are as a calendar writes them, `2026-11-23`, in the time zone of the browser. */
export interface SearchWords {
  readonly text: string;
  /** The id of the one conversation to look in. */
  readonly conv?: string | undefined;
  /** Whose messages, by username. */
  readonly from?: string | undefined;
  readonly hasFile?: boolean | undefined;
  /** The first day that counts, and the first that does not any more. */
  readonly after?: string | undefined;
  readonly before?: string | undefined;
}

/** What names stand for; undefined where nobody, or nothing, is called that. */
export interface SearchNames {
  readonly conversation: (name: string) => string | undefined;
  readonly person: (name: string) => string | undefined;
}

const OPERATOR = /(?<!\S)(\p{L}+):(?:"([^"]*)"|(\S+))/gu;
const FILE_WORDS = new Set(['file', 'файл']);
type Operator = 'in' | 'from' | 'has' | 'after' | 'before';
const OPERATORS: Readonly<Record<string, Operator>> = {
  in: 'in',
  from: 'from',
  has: 'has',
  after: 'after',
  before: 'before',
  в: 'in',
  от: 'from',
  есть: 'has',
  после: 'after',
  до: 'before',
};

/** Reads what was typed. What looks like an operator and is none, or names nothing, stays with the words. */
export function readTyped(typed: string, names: SearchNames): SearchWords {
  const narrowed: { -readonly [Key in keyof SearchWords]: SearchWords[Key] } = { text: '' };
  const take = (operator: Operator | undefined, value: string): boolean => {
    const read = operator === undefined ? undefined : readOperator(operator, value, names);
    Object.assign(narrowed, read);
    return read !== undefined;
  };
  const text = typed.replaceAll(OPERATOR, (whole, name: string, quoted?: string, bare?: string) =>
    take(OPERATORS[name.toLowerCase()], quoted ?? bare ?? '') ? ' ' : whole,
  );
  return { ...narrowed, text: text.replaceAll(/\s+/gu, ' ').trim() };
}

function readOperator(operator: Operator, value: string, names: SearchNames): Partial<SearchWords> | undefined {
  switch (operator) {
    case 'in': {
      const conv = names.conversation(value);
      return conv === undefined ? undefined : { conv };
    }
    case 'from': {
      const from = names.person(value);
      return from === undefined ? undefined : { from };
    }
    case 'has':
      return FILE_WORDS.has(value.toLowerCase()) ? { hasFile: true } : undefined;
    default:
      return isDay(value) ? { [operator]: value } : undefined;
  }
}

/** Whether a text is a day that there is. */
export function isDay(text: string): boolean {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}

/** The instant at which a day begins where the browser is, in milliseconds; undefined for what is no day. */
export function beginOf(day: string | undefined): number | undefined {
  return day === undefined || !isDay(day) ? undefined : new Date(`${day}T00:00:00`).getTime();
}
