/** The generated documents, as they ought to be now, and which of the stored ones differ from that. */
import { ERRORS, RETIRED_CODES } from '#src/protocol/errors.ts';
import * as limits from '#src/protocol/limits.ts';
import { metricDocument } from '#src/telemetry/metric-document.ts';
import { asyncApiDocument } from './asyncapi.ts';
import { extendErrorList, readErrorList } from './error-list.ts';
import { openApiDocument } from './openapi.ts';
import { roomsTable } from './rooms.ts';
import type { JsonObject } from './schemas.ts';
import {
  accountRightsTable,
  closeCodesTable,
  errorsTable,
  limitsTable,
  policiesTable,
  quotasTable,
  ratesTable,
  replaceBetweenMarkers,
  rightsTable,
  routesTable,
  settingsTable,
} from './tables.ts';

/** The text of a file of the project by its path, or undefined when there is none. */
export type ReadFile = (path: string) => string | undefined;

/**
 * Every document that is generated, whole or between markers, by its path.
 * @throws Error when the error catalogue breaks a frozen code, or a written document has lost its markers.
 */
export function generateDocuments(read: ReadFile): Map<string, string> {
  const fill = (path: string, tables: Readonly<Record<string, string>>) =>
    Object.entries(tables).reduce((text, [name, table]) => replaceBetweenMarkers(text, name, table), read(path) ?? '');
  const protocolTables = {
    routes: routesTable(),
    rights: rightsTable(),
    'account-rights': accountRightsTable(),
    'close-codes': closeCodesTable(),
    errors: errorsTable(),
    policies: policiesTable(),
    quotas: quotasTable(),
    rates: ratesTable(),
    limits: limitsTable(read('src/protocol/limits.ts') ?? '', limits),
  };
  return new Map([
    ['docs/openapi.json', toText(openApiDocument())],
    ['docs/asyncapi.json', toText(asyncApiDocument())],
    ['docs/errors.json', extendErrorList(readErrorList(read('docs/errors.json')), ERRORS, RETIRED_CODES)],
    ['docs/metrics.md', metricDocument()],
    ['README.md', fill('README.md', { config: settingsTable(), rooms: roomsTable(read) })],
    ['docs/protocol.md', fill('docs/protocol.md', protocolTables)],
  ]);
}

/** The documents whose stored text is not what is generated now, by path. */
export function staleDocuments(read: ReadFile): Map<string, string> {
  return new Map([...generateDocuments(read)].filter(([path, content]) => read(path) !== content));
}

function toText(document: JsonObject): string {
  return `${JSON.stringify(document, null, 2)}\n`;
}
