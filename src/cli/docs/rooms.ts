/** The rooms of the project from the ground up, and what their READMEs say of them: for the README and its readers. */
import { markdownTable } from './tables.ts';

/**
 * Every room of production code, the lowest first. A room may import only what stands below it, and of that only what its
 * README states; `test/tidy/imports.test.ts` holds both.
 */
export const ROOMS = [
  'src/base',
  'src/protocol',
  'src/limits',
  'src/pool',
  'src/client',
  'src/web',
  'src/redaction',
  'src/node-agent',
  'src/config',
  'src/telemetry',
  'src/tls',
  'storage/log',
  'storage/stream',
  'storage/engine',
  'storage/accounts',
  'storage/vault',
  'storage/conversations',
  'storage/search',
  'storage/attachments',
  'storage/cluster',
  'storage/calendars',
  'storage/backup',
  'storage/check',
  'actors/runtime',
  'actors/person',
  'actors/call',
  'actors/conversation',
  'actors/push',
  'src/pictures',
  'src/outgoing',
  'src/delivery',
  'src/acme',
  'src/push',
  'src/http',
  'src/audit',
  'src/identity',
  'src/settings',
  'src/directory',
  'src/emoji',
  'src/hosting',
  'src/scim',
  'src/meetings',
  'src/monitoring',
  'src/integrations',
  'src/hosts',
  'src/compliance',
  'src/messaging',
  'src/mail',
  'src/account-mail',
  'src/calendar',
  'src/server',
  'src/cluster',
  'src/console',
  'src/web/console',
  'src/cli',
  'src/main',
] as const;

/** These two stand in `src` as one file each. */
const FILES: Readonly<Record<string, string>> = {
  'src/config': 'Every setting with its default, its bounds and its meaning.',
  'src/main': 'The composition root: puts the server together and starts it.',
};

/** What a room's README says first, and where it sends a newcomer. @throws Error when it says neither. */
export function roomOf(room: string, readme: string): { readonly purpose: string; readonly start: string } {
  const [, paragraph] = /^# .+\n\n([\s\S]+?)\n\n/.exec(readme) ?? [];
  const purpose = paragraph?.replaceAll('\n', ' ').match(/^.*?\.(?=\s|$)/)?.[0];
  const start = /\*\*Start at\*\* `([\w./-]+\.tsx?)`/.exec(readme)?.[1];
  if (purpose === undefined || start === undefined)
    throw new Error(`${room}/README.md lacks a purpose or **Start at**`);
  return { purpose, start };
}

/** Room, what it is for, where to begin: the highest first, as a reader comes from outside. */
export function roomsTable(read: (path: string) => string | undefined): string {
  const rows = ROOMS.toReversed().map((room) => {
    const said = FILES[room];
    if (said !== undefined) return [`\`${room}.ts\``, said, ''];
    const { purpose, start } = roomOf(room, read(`${room}/README.md`) ?? '');
    return [`[\`${room}\`](${room}/README.md)`, purpose, `\`${start}\``];
  });
  return markdownTable(['Room', 'What it is for', 'Begin at'], rows);
}
