/** Which form of /healthz a request asks for, by its Accept header. */
import { EXPOSITION_CONTENT_TYPES } from './exposition.ts';

/** In the order of preference where a client likes several equally. */
const FORMATS = [
  { format: 'json', type: 'application', subtype: 'json' },
  { format: 'openmetrics', type: 'application', subtype: 'openmetrics-text' },
  { format: 'prometheus', type: 'text', subtype: 'plain' },
] as const;

export type HealthFormat = (typeof FORMATS)[number]['format'];
export const HEALTH_FORMATS: readonly HealthFormat[] = FORMATS.map(({ format }) => format);

export const HEALTH_CONTENT_TYPES: Readonly<Record<HealthFormat, string>> = {
  json: 'application/json; charset=utf-8',
  ...EXPOSITION_CONTENT_TYPES,
};

/** Ranges of an Accept header that are read; Prometheus sends six. What stands behind them is not looked at. */
const RANGES_MAX = 32;

interface MediaRange {
  readonly type: string;
  readonly subtype: string;
  readonly q: number;
}

/**
 * The format a client likes best (RFC 9110, 12.5.1). The most specific range that matches a format says how much it
 * is liked; among those liked equally, one that was named goes before one that a wildcard let in, and JSON goes
 * before the expositions. JSON is also the answer to no header, to one that names nothing we have, and to a browser.
 * Parameters other than `q` are not told apart: there is one version of each format.
 */
export function chooseHealthFormat(accept: string | undefined): HealthFormat {
  const ranges = (accept ?? '').split(',', RANGES_MAX).map(readRange);
  let best: { format: HealthFormat; q: number; specificity: number } = { format: 'json', q: 0, specificity: 0 };
  for (const { format, type, subtype } of FORMATS) {
    const liked = { format, q: 0, specificity: 0 };
    for (const range of ranges) {
      const specificity = specificityOf(range, type, subtype);
      if (specificity > liked.specificity) Object.assign(liked, { q: range.q, specificity });
      else if (specificity > 0 && specificity === liked.specificity) liked.q = Math.max(liked.q, range.q);
    }
    if (liked.q > best.q || (liked.q === best.q && liked.q > 0 && liked.specificity > best.specificity)) best = liked;
  }
  return best.format;
}

/** 3 for the type itself, 2 for `type/*`, 1 for any, 0 for no match. */
function specificityOf(range: MediaRange, type: string, subtype: string): number {
  if (range.type === type && range.subtype === subtype) return 3;
  if (range.type === type && range.subtype === '*') return 2;
  return range.type === '*' && range.subtype === '*' ? 1 : 0;
}

function readRange(text: string): MediaRange {
  const [media = '', ...parameters] = text.toLowerCase().split(';');
  const [type = '', subtype = ''] = media.trim().split('/');
  const weight = parameters
    .map((parameter) => /^\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*$/.exec(parameter)?.[1])
    .find(Boolean);
  return { type, subtype, q: weight === undefined ? 1 : Math.min(Number(weight), 1) };
}
