/** Prints a report: what each subject did in each case, the ratios with their ranges, the bars. */
import type { Report } from './schema.ts';
import { isNoDifference, spreadOf } from './spread.ts';

/** The report as text for a screen. */
export function printReport(report: Report): string {
  const { machine } = report;
  const pinned =
    machine.serverCores.length === 0
      ? 'not pinned'
      : `server on core ${machine.serverCores.join(',')}, generators on ${machine.generatorCores.join(',')}`;
  const parameters = Object.entries(report.parameters).map(([name, value]) => `${name} ${String(value)}`);
  return [
    `\n== ${report.scenario} (${report.size}) ==`,
    `${machine.cores} × ${machine.cpu}, Linux ${machine.kernel}, Node ${machine.node}, data on ${machine.dataFileSystem}, ` +
      `${pinned}, load before ${machine.loadBefore.toFixed(2)}, commit ${report.commit.slice(0, 12)}${report.dirty ? ' + changes' : ''}`,
    parameters.join(', '),
    '',
    ...Map.groupBy(report.rounds, (round) => round.case)
      .entries()
      .map(([name, rounds]) => printCase(name, rounds)),
    ...section('ratios (median, low–high of the rounds)', report.ratios.map(printRatio)),
    ...section('bars', report.bars.map(printBar)),
    ...section('notes', report.notes),
    ...section('FAILURES', report.failures),
    report.size === 'smoke'
      ? 'A smoke run says whether answers are right; its figures mean nothing.'
      : 'Absolute figures are for this machine only; compare ratios.',
  ].join('\n');
}

function section(title: string, lines: string[]): string[] {
  return lines.length === 0 ? [] : [title, ...lines.map((line) => `  ${line}`), ''];
}

function printCase(name: string, rounds: Report['rounds']): string {
  const subjects = Map.groupBy(rounds, (round) => round.subject);
  const metrics = [...new Set(rounds.flatMap((round) => Object.keys(round.values)))];
  const rows = [...subjects].map(([subject, own]) => [
    subject,
    ...metrics.map((metric) => printCell(own.flatMap((round) => round.values[metric] ?? []))),
  ]);
  const count = Math.max(...[...subjects.values()].map((own) => own.length));
  return `${align([[`${name}, ${count} rounds`, ...metrics], ...rows])}\n`;
}

function printCell(values: readonly number[]): string {
  if (values.length === 0) return '·';
  const { median, low, high } = spreadOf(values);
  return values.length === 1 ? figure(median) : `${figure(median)} (${figure(low)}–${figure(high)})`;
}

function printRatio(ratio: Report['ratios'][number]): string {
  const verdict = isNoDifference(ratio) ? '  no difference shown' : '';
  return `${ratio.case}: ${ratio.metric}, ${ratio.of} / ${ratio.to} = ${figure(ratio.median)} (${figure(ratio.low)}–${figure(ratio.high)})${verdict}`;
}

function printBar(bar: Report['bars'][number]): string {
  return `${bar.met ? 'met   ' : 'MISSED'} ${bar.case}: ${bar.metric} ${figure(bar.value)} ${bar.relation} ${figure(bar.bound)}`;
}

/** Three significant figures, thousands apart. */
function figure(value: number): string {
  if (value === 0) return '0';
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toLocaleString('en-GB', { minimumFractionDigits: 0, maximumFractionDigits: digits });
}

function align(rows: string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows
    .map((row) =>
      row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  '),
    )
    .join('\n');
}
