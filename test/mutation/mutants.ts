/** Mutants of a source: a small change of its syntax each, which a test should notice. */
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { parseSync, Visitor, type ESTree } from 'rolldown/utils';

/** One way to break a source: the text from `start` to `end` is replaced. Both are offsets into the source. */
export interface Mutation {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A line of production code, and how it is broken. */
export interface Mutant {
  readonly path: string;
  /** From 1. */
  readonly line: number;
  readonly mutation: Mutation;
}

/** Comparisons and their opposites, and what else stands between two values and what is put in its place. */
const OPPOSITES: Readonly<Record<string, string>> = {
  ...{ '<': '>=', '>=': '<', '>': '<=', '<=': '>', '===': '!==', '!==': '===' },
  ...{ '&&': '||', '||': '&&', '+': '-', '-': '+', '*': '/', '/': '*', '&': '|', '|': '&', '<<': '>>', '>>': '<<' },
};

/** Every way to break a source, in the order of the text: see test/mutation/README.md. */
export function mutationsOf(path: string, source: string): Mutation[] {
  const found: Mutation[] = [];
  const replace = ({ start, end }: { start: number; end: number }, text: string) => found.push({ start, end, text });
  const negate = (test: ESTree.Expression) => replace(test, `!(${source.slice(test.start, test.end)})`);
  const swap = ({ left, operator, right }: ESTree.BinaryExpression | ESTree.LogicalExpression) => {
    const opposite = OPPOSITES[operator];
    const at = source.indexOf(operator, left.end);
    if (opposite !== undefined && at < right.start) replace({ start: at, end: at + operator.length }, opposite);
  };
  // A type may say 64 or true as well, and says nothing when it runs.
  let types = 0;
  const inType = { enter: () => void (types += 1), exit: () => void (types -= 1) };
  const visitor = new Visitor({
    TSLiteralType: inType.enter,
    'TSLiteralType:exit': inType.exit,
    BinaryExpression: swap,
    LogicalExpression: swap,
    IfStatement: ({ test }) => void negate(test),
    WhileStatement: ({ test }) => void negate(test),
    ConditionalExpression: ({ test }) => void negate(test),
    ExpressionStatement: (node) => {
      if (!('directive' in node) || node.directive === null || node.directive === undefined) replace(node, ';');
    },
    ThrowStatement: (node) => void replace(node, ';'),
    ContinueStatement: (node) => void replace(node, ';'),
    ReturnStatement: (node) => {
      if (node.argument === null) replace(node, ';');
    },
    Literal: (node) => {
      if (types > 0) return;
      if (typeof node.value === 'number') replace(node, String(node.value + 1));
      else if (typeof node.value === 'bigint') replace(node, `${node.value + 1n}n`);
      else if (typeof node.value === 'boolean') replace(node, String(!node.value));
    },
  });
  visitor.visit(parseSync(path, source).program);
  return found.toSorted((a, b) => a.start - b.start || a.end - b.end);
}

/** The source as the mutation leaves it. */
export function mutated(source: string, { start, end, text }: Mutation): string {
  return source.slice(0, start) + text + source.slice(end);
}

/**
 * So many lines at random, and a mutation of each. A line is drawn by a hash of the seed, the file's name and what the
 * line says: the same seed draws the same lines after files moved to other folders.
 */
export function drawMutants(sources: ReadonlyMap<string, string>, seed: number, count: number): Mutant[] {
  const drawn: { readonly lot: string; readonly mutant: Mutant }[] = [];
  for (const [path, source] of sources) {
    const lines = source.split('\n');
    const byLine = Map.groupBy(mutationsOf(path, source), ({ start }) => source.slice(0, start).split('\n').length);
    const seen = new Map<string, number>();
    for (const [line, mutations] of byLine) {
      const text = lines[line - 1]?.trim() ?? '';
      const nth = (seen.get(text) ?? 0) + 1;
      seen.set(text, nth);
      const lot = createHash('sha256')
        .update(`${seed} ${basename(path)} ${nth} ${text}`)
        .digest();
      const mutation = mutations[lot.readUInt32BE(0) % mutations.length] as Mutation;
      drawn.push({ lot: lot.toString('hex', 4), mutant: { path, line, mutation } });
    }
  }
  return drawn
    .toSorted((a, b) => (a.lot < b.lot ? -1 : 1))
    .slice(0, count)
    .map(({ mutant }) => mutant);
}
