/** Private keys as logs come to hold them: whole, escaped, encoded, line by line behind prefixes, and cut. */
import type { SeededRandom } from '#test/support/random.ts';
import { BASE62, BASE64, bytes, draw, drawMixed, HEX } from './alphabets.ts';
import { jsonEscaped, percent } from './encodings.ts';
import type { Label, Marked } from './labels.ts';

export interface KeyRecord extends Marked {
  name: string;
}

const KINDS = ['RSA ', 'EC ', 'DSA ', 'OPENSSH ', 'ENCRYPTED ', '', 'PGP', 'SSH2 ENCRYPTED '];

interface Key {
  kind: string;
  begin: string;
  headers: string[];
  body: string[];
  end: string;
}

function makeKey(random: SeededRandom, kind: string): Key {
  const width = kind === 'OPENSSH ' ? 70 : 64;
  const body = Array.from({ length: random.whole(4, 14) }, () => drawMixed(random, BASE64, width));
  if (kind === 'OPENSSH ') body[0] = `b3BlbnNzaC1rZXktdjE${(body[0] ?? '').slice(19)}`;
  body.push(`${draw(random, BASE64, random.whole(2, 9) * 4 - 1)}=`);
  const isEncrypted = kind === 'RSA ' && random.chance(0.3);
  const headers = isEncrypted
    ? ['Proc-Type: 4,ENCRYPTED', `DEK-Info: AES-128-CBC,${draw(random, HEX.toUpperCase(), 32)}`, '']
    : [];
  const label = kind === 'PGP' ? 'PGP PRIVATE KEY BLOCK' : `${kind}PRIVATE KEY`;
  const [begin, end] =
    kind.startsWith('SSH2') && random.chance(0.5)
      ? [`---- BEGIN ${label} ----`, `---- END ${label} ----`]
      : [`-----BEGIN ${label}-----`, `-----END ${label}-----`];
  return { kind, begin, headers, body, end };
}

function linesOf(key: Key): string[] {
  return [key.begin, ...key.headers, ...key.body, key.end];
}

function labelsOf(key: Key): Label[] {
  return key.body.map((value) => ({ class: 'private-key', kind: 'secret', value }));
}

const syslog = (line: string): string => `Nov 20 10:00:01 node7 app[77]: ${line}`;
const docker = (line: string): string => `2026-11-20T10:00:01.003456789Z stdout F ${line}`;

type Writer = (key: Key, random: SeededRandom) => string;

/** Every way to write a key down. Each is tried with each kind of key. */
const WRITERS: Readonly<Record<string, Writer>> = {
  'as it is': (key) => linesOf(key).join('\n'),
  'with carriage returns': (key) => linesOf(key).join('\r\n'),
  'indented, as in YAML': (key) =>
    `  tls.key: |\n${linesOf(key)
      .map((line) => `    ${line}`)
      .join('\n')}`,
  'on one line with spaces': (key) => `loaded key ${linesOf(key).join(' ')} from disk`,
  'behind the prefixes of syslog': (key) => linesOf(key).map(syslog).join('\n'),
  'behind the prefixes of a container': (key) => linesOf(key).map(docker).join('\n'),
  'with another program in between': (key) =>
    linesOf(key)
      .flatMap((line, at) =>
        at % 3 === 2 ? ['Nov 20 10:00:01 node7 cron[9]: pass complete', syslog(line)] : [syslog(line)],
      )
      .join('\n'),
  'in a field of JSON': (key) =>
    `{"level":30,"type":"service_account","private_key":"${jsonEscaped(`${linesOf(key).join('\n')}\n`)}","client_id":"77"}`,
  'in a message of JSON': (key) => `{"level":50,"msg":"cannot parse ${jsonEscaped(linesOf(key).join('\n'))}","pid":7}`,
  'in JSON within JSON': (key) =>
    `{"level":30,"msg":"${jsonEscaped(JSON.stringify({ key: linesOf(key).join('\n'), n: 1 }))}"}`,
  'with unicode escapes': (key) => `{"level":30,"pem":"${linesOf(key).join('\\u000a')}"}`,
  'with escaped returns': (key) => `key="${linesOf(key).join('\\r\\n')}" loaded=true`,
  'percent-encoded': (key) => `"POST /import?key=${percent(linesOf(key).join('\n'))} HTTP/1.1" 400 12`,
  'with character references': (key) => `<key>${linesOf(key).join('&#10;')}</key>`,
  'joined in source code': (key) =>
    linesOf(key)
      .map((line) => `"${line}\\n" +`)
      .join('\n'),
  'in base64': (key) => `tls.key: ${Buffer.from(linesOf(key).join('\n')).toString('base64')}`,
  'without its end': (key) => [key.begin, ...key.headers, ...key.body].map(syslog).join('\n'),
  'from within': (key) => [...key.body.slice(1), key.end].map(syslog).join('\n'),
  'from within and bare': (key) => [...key.body.slice(2), key.end, 'Nov 20 10:00:02 node7 app[77]: ready'].join('\n'),
  'a middle alone': (key) => key.body.slice(1, 3).map(syslog).join('\n'),
  'a header and one line': (key) => `${key.begin}\\n${key.body[0] ?? ''}`,
};

function puttyKey(random: SeededRandom): Marked {
  const lines = Array.from({ length: 4 }, () => drawMixed(random, BASE64, 64));
  const mac = draw(random, HEX, 64);
  const text = `PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: backup\nPublic-Lines: 1\n${draw(random, BASE62, 64)}\nPrivate-Lines: 4\n${lines.join('\n')}\nPrivate-MAC: ${mac}`;
  return { text, labels: [...lines, mac].map((value) => ({ class: 'private-key', kind: 'secret', value })) };
}

function keyBytesInJson(random: SeededRandom): Marked {
  const body = bytes(random, 48).toString('base64');
  const text = `-----BEGIN PRIVATE KEY-----\n${body}\n-----END PRIVATE KEY-----\n`;
  return {
    text: `{"__REALTIME_TIMESTAMP":"1790000000000000","MESSAGE":[${[...Buffer.from(text)].join(',')}]}`,
    labels: [{ class: 'private-key', kind: 'secret', value: body }],
  };
}

/** Every writing of every kind of key. */
export function privateKeyRecords(random: SeededRandom): KeyRecord[] {
  const records: KeyRecord[] = [];
  for (const [writing, write] of Object.entries(WRITERS)) {
    for (const kind of KINDS) {
      const key = makeKey(random, kind);
      const text = write(key, random);
      // A cut key shows only some of its lines; the rest has nothing to leak.
      const labels = labelsOf(key).filter((label) => isWritten(text, label.value));
      records.push({ name: `${kind.trim() || 'plain'} ${writing}`, text, labels });
    }
  }
  records.push({ name: 'putty', ...puttyKey(random) }, { name: 'as an array of bytes', ...keyBytesInJson(random) });
  return records;
}

function isWritten(text: string, line: string): boolean {
  return [line, percent(line)].some((form) => text.includes(form)) || text.startsWith('tls.key: ');
}
