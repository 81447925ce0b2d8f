/** Tables with their names in a line above: what the name of a column says holds for the lines below it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redactor } from '#src/redaction/redactor.ts';

const redactor = new Redactor({ key: Buffer.alloc(32, 7), secrets: [] });
const EVA = 'u-d110ad25';

/** What comes out of a text, once and once more. */
function redact(text: string): string {
  const once = redactor.text(text);
  assert.equal(redactor.text(once), once, 'RED-12 twice is once');
  return once;
}

test('RED-01 RED-03 a column of CSV is what its name says; quotes, empty values and other columns stay', () => {
  assert.equal(
    redact(
      'id,username,full_name,phone,ip,password,created\n7,eva,"Eva, of the ""Hill""",,10.1.2.3,velvet winter,2026-06-04\n8,,,,,,',
    ),
    `id,username,full_name,phone,ip,password,created\n7,${EVA},"u-ad5fa7e3",,10.1.2.x,[REDACTED:secret],2026-06-04\n8,,,,,,`,
  );
});

test('RED-01 RED-03 columns of TSV, of COPY, of the extended log format and of Zeek', () => {
  assert.equal(
    redact('time\tuser\ttoken\n1\teva\tabc-def\n2\t-\t\\N'),
    `time\tuser\ttoken\n1\t${EVA}\t[REDACTED:secret]\n2\t-\t\\N`,
  );
  assert.equal(
    redact('COPY public.users (id, login, password_hash) FROM stdin;\n9\teva\tplain\n\\.\nlogin eva'),
    `COPY public.users (id, login, password_hash) FROM stdin;\n9\t${EVA}\t[REDACTED:secret]\n\\.\nlogin eva`,
  );
  assert.equal(
    redact('#Fields: date cs-method cs-username sc-status\n2026-11-20 GET eva 200\n#Date: 2026\n2026-11-21 GET - 200'),
    `#Fields: date cs-method cs-username sc-status\n2026-11-20 GET ${EVA} 200\n#Date: 2026\n2026-11-21 GET - 200`,
  );
  assert.equal(
    redact('#fields\tts\tuid\tuser\n#types\ttime\tstring\tstring\n1.5\tCFDHrA\teva'),
    `#fields\tts\tuid\tuser\n#types\ttime\tstring\tstring\n1.5\tCFDHrA\t${EVA}`,
  );
});

test('a table of two columns, and one that is drawn, are tables', () => {
  assert.equal(redact('user,total\neva,5'), `user,total\n${EVA},5`);
  assert.equal(
    redact('| user | etag |\n|---|---|\n| eva | 4f9a1c7e2b8d3f6a0c5e9b1d7f3a8c2e |'),
    `| user | etag |\n|---|---|\n| ${EVA} | 4f9a1c7e2b8d3f6a0c5e9b1d7f3a8c2e |`,
  );
  assert.equal(
    redact(' username | total \n----------+-------\n eva      |     5'),
    ` username | total \n----------+-------\n ${EVA}      |     5`,
  );
});

test('a line of another number of values ends the table; a sentence with commas is none', () => {
  assert.equal(redact('a,user,b\n1,eva,2\n1,eva\n1,eva,2'), `a,user,b\n1,${EVA},2\n1,eva\n1,eva,2`);
  for (const plain of ['Hello all, the user is here, and so are we\none,two,three', 'the user, total\neva,5']) {
    assert.equal(redact(plain), plain);
  }
});

test('a table is the same wherever its stream is cut', () => {
  const text = `id,username,password\n${Array.from({ length: 40 }, (_, n) => `${n},eva,secret ${n}`).join('\n')}\n`;
  const whole = redact(text);
  for (let at = 1; at < text.length; at += 7) {
    const stream = redactor.stream();
    const parts = [stream.push(Buffer.from(text.slice(0, at))), stream.push(Buffer.from(text.slice(at))), stream.end()];
    assert.equal(Buffer.concat(parts.map((part) => Buffer.from(part))).toString(), whole, `cut at ${at}`);
  }
});
