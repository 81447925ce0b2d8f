/** Families of lines that vendors' logs hold: in none of them a person or a secret may be read (RED-01 … RED-06). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BLOCK_LINES_MAX } from '#src/redaction/lines.ts';
import { Redactor } from '#src/redaction/redactor.ts';
import { KEY } from './corpus/labels.ts';

const engine = new Redactor({ key: KEY });
/** The pseudonyms that the values below have in every syntax. */
const USER = engine.text('user=alicecan').slice('user='.length);
const PHONE = engine.text('phone=+79160001122').slice('phone='.length);
const LEAK = /alicecan|hunter2can|birthdaycan|9160001122|916 000|113\.77/i;
const INVISIBLE = /[\u00ad\u200b-\u200d\u2060\ufeff]/g;

/** Lines with `alicecan` as the user, `hunter2can` as the secret, `birthdaycan` as the text. */
const USERS: Readonly<Record<string, readonly string[]>> = {
  pairs: [
    '{"key":"user","value":"alicecan"}',
    '{"value":"alicecan","name":"username"}',
    '{\n  "name": "login",\n  "value": "alicecan"\n}',
    '{"op":"replace","path":"/displayName","value":"alicecan"}',
    "<Data Name='TargetUserName'>alicecan</Data>",
  ],
  'lines below a key': [
    'user:\n  alicecan\nnext: 1',
    'participants:\n- alicecan\n- bob\nx: 1',
    '"participants": [\n  "alicecan",\n  "bob"\n]',
    'users:\n- alicecan\n- bob\nx: 1',
    '{"recipients":["alicecan","bob"]}',
  ],
  'lines without names of fields': [
    '20261120 10:11:12,db1,alicecan,203.0.113.77,5,0,CONNECT,app,,0',
    "20261120 10:11:12,db1,alicecan,localhost,5,7,QUERY,app,'SELECT 1',0",
    'Nov 22 10:00:01 db1 mysql-server_auditing: db1,alicecan,203.0.113.77,5,0,DISCONNECT,app,,0',
    '1700000000.123    55 203.0.113.77 TCP_TUNNEL/200 3426 CONNECT h:443 alicecan HIER_DIRECT/203.0.113.77 -',
    '2026-11-20T10:11:12.123Z|4f9a1c7e2b8d3f6a|203.0.113.77|alicecan|GET|/api|200|-1|0|5|pip',
  ],
  'lines in a string or an element, and behind a key with padding': [
    '{"msg":"2026-11-20 10:11:12 alicecan/203.0.113.77:1194 PUSH: x"}',
    'PrivateKey = uJx7Qm4ZTb2Wn8Lf0aBcDeFgHiJkLmNoPqRsTuVwXyA=\n2026-11-20 10:11:12 alicecan/203.0.113.77:1194 PUSH: x',
    '<message>FATAL:  role &quot;alicecan&quot; does not exist</message>',
    '"+79160001122","default","""alicecan"" <+79160001122>"',
  ],
  'parts of forms': ['Content-Disposition: form-data; name="user"\r\n\r\nalicecan\r\n--b--'],
  exim: [
    '1abc <= <> R=1 U=alicecan P=local S=33',
    '1abc => alicecan <alicecan@example.org> R=local T=local_delivery',
    '1abc ** alicecan R=local: unknown',
    'Incorrect authentication data (set_id=alicecan)',
  ],
  sshd: [
    'sshd: alicecan [priv]',
    'sshd[5]: Starting session: shell on pts/0 for alicecan from 203.0.113.77 port 3 id 0',
  ],
  accounts: [
    "login[1]: FAILED LOGIN (1) on '/dev/tty1' FOR `alicecan', Authentication failure",
    'login[1]: LOGIN ON pts/1 BY alicecan FROM 203.0.113.77',
    'su[1]: + /dev/pts/0 alicecan:root',
    'su[1]: BAD SU alicecan to root on /dev/tty1',
    'pam_unix(sudo:auth): auth could not identify password for [alicecan]',
    'unix_chkpwd[1]: password check failed for user (alicecan)',
    'pam_tally2(sshd:auth): user alicecan (1000) tally 3, deny 3',
    'pkexec[1]: alicecan: Executing command [TTY=unknown]',
    'doas: alicecan ran command ls as root',
    'useradd[1]: new user: name=alicecan, UID=1000, GID=1000',
    "useradd[1]: add 'alicecan' to group 'sudo'",
    "userdel[1]: removed group 'alicecan' owned by 'alicecan'",
    "Adding new user `alicecan' (1001) with group `alicecan' ...",
    'passwd[1]: password changed for alicecan',
    'crond[1]: (alicecan) FAILED (loading cron table)',
    'postgres: alicecan chat 203.0.113.77(4711) idle',
  ],
  SQL: [
    "INSERT INTO users (name, phone) VALUES ('alicecan', NULL), ('alicecan', '+79160001122')",
    "INSERT INTO `users` (`id`,`username`) VALUES (5,'alicecan')",
    "SELECT 1 FROM a WHERE u.username LIKE 'alicecan%'",
    "SELECT 1 FROM a WHERE username IN ('alicecan', 'bob')",
    'DETAIL:  Key (tenant, username)=(1, alicecan) already exists.',
    'CREATE ROLE alicecan LOGIN',
  ],
  telephony: [
    'o=alicecan 2890844526 2890842807 IN IP4 203.0.113.77',
    'Processing alicecan <+79160001122>->1001 in context public',
    '-- Called PJSIP/alicecan',
    'Channel SIP/alicecan-0000001a left',
    'Set(CALLERID(name)=alicecan)',
    'variable_effective_caller_id_name: alicecan',
  ],
  directory: ['cn: alicecan', 'memberUid: alicecan', 'dn: cn=alicecan,ou=people,dc=example', 'gecos: alicecan'],
  'command lines': [
    'mysql -u alicecan chat',
    'psql -U alicecan chat',
    'sudo -u alicecan ls',
    'app --username alicecan start',
    'argv=["app","--username","alicecan"]',
  ],
  dumps: [
    '    [user] => alicecan',
    '  ["user"]=> string(8) "alicecan"',
    "{'user': u'alicecan'}",
    'Session { user: Some("alicecan"), id: 5 }',
    'User { name: "alicecan", id: 5 }',
    'User(id=1, name=alicecan)',
    'user=[alicecan]',
    'User: (string) (len=8) "alicecan"',
    '	Account Name:		alicecan',
    'CEF:0|V|P|1|100|login|5|src=203.0.113.77 suser=alicecan duser=bob',
  ],
  'what nobody sees': [
    'user\u00a0=\u00a0alicecan',
    'user=\u00a0alicecan',
    'us\u200ber=alicecan',
    'user=alice\u00adcan',
    '\ufeffuser=alicecan',
    '{"us\\u200ber":"alicecan"}',
  ],
};

const SECRETS: Readonly<Record<string, readonly string[]>> = {
  pairs: [
    '{"env":[{"name":"A","value":"b"},{"name":"DB_PASSWORD","value":"hunter2can"}]}',
    '{"value":"hunter2can","name":"DB_PASSWORD"}',
    'started with {"Name":"Authorization","Value":"hunter2can"} today',
    '"Env": ["DB_PASSWORD=hunter2can","PATH=/usr/bin"]',
    '{\\"name\\":\\"DB_PASSWORD\\",\\"value\\":\\"hunter2can\\"}',
    '- name: DB_PASSWORD\n  value: hunter2can',
    '<param name="password" value="hunter2can"/>',
    '<add key="Password" value="hunter2can"/>',
    'env: [{name: DB_PASSWORD, value: hunter2can}, {name: PORT, value: "5"}]',
    '{user: bob, password: hunter2can}',
    "[ 'Host', 'h', 'Cookie', 'sid=hunter2can', 'X-Api-Key', 'hunter2can', 'Accept', '*/*' ]",
    '{"rawHeaders":["Host","h","X-Api-Key","hunter2can","Cookie","sid=hunter2can"]}',
  ],
  'at the beginning of a line, in an element, in one word': [
    '{password,"hunter2can,b"}.',
    '<message>smtp_password = &quot;hunter2can and hunter2can&quot;</message>',
    'export ACCESSTOKEN=hunter2can',
    'mysql app:x%40hunter2can@tcp(203.0.113.77:3306)/app',
  ],
  'sentences and bare lines': [
    'the password is hunter2can',
    'Password hunter2can',
    'redis_password\thunter2can\nuser_id\t5\napi_key\thunter2can',
  ],
  'lines below a key': [
    'password:\n  hunter2can\nnext: 1',
    'password: |\n  hunter2can\n\n  hunter2can again\nnext: 2',
    'passwords:\n  - hunter2can\n  - "hunter2can b"\nx: 1',
    '"password":\n   "hunter2can"',
    'credentials:\n  web: hunter2can\n  port: 5',
    'password: !!str hunter2can',
  ],
  'parts of forms': [
    'Content-Disposition: form-data; name="password"\r\n\r\nhunter2can\r\n--b--',
    'Content-Disposition: form-data; name=password\nContent-Type: text/plain\n\nhunter2can\n--b',
    '{"raw":"Content-Disposition: form-data; name=\\"password\\"\\r\\n\\r\\nhunter2can\\r\\n--b"}',
  ],
  SQL: [
    "INSERT INTO users (id, password) VALUES (5, 'hunter2can'), (6, 'it''s hunter2can')",
    "UPDATE `users` SET `password` = 'hunter2can'",
    "UPDATE [users] SET [password] = N'hunter2can'",
    'DETAIL:  Failing row contains (1, alicecan, hunter2can).',
    "SET PASSWORD FOR 'bob'@'%' = 'hunter2can'",
    'jdbc:oracle:thin:alicecan/hunter2can@db.example.org:1521/x',
  ],
  telephony: ['a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:hunter2canhunter2canhunter2canhunter2canAA'],
  'command lines': [
    'curl --user alicecan:hunter2can https://example.org',
    'docker login -u alicecan -p hunter2can registry.example.org',
    'ldapsearch -x -w hunter2can -b dc=x',
    'smbclient -U alicecan%hunter2can //h/s',
    'argv=["app","--password","hunter2can"]',
    '["curl","-u","alicecan:hunter2can"]',
    'curl --cookie sid=hunter2can https://example.org',
  ],
  dumps: ['    [password] => hunter2can', '{"password":\u00a0"hunter2can"}', 'Config { password: Some("hunter2can") }'],
  'what nobody sees': ['pass\u00adword: hunter2can', 'password\u200b=hunter2can', '{"pass\\u200bword":"hunter2can"}'],
};

const OTHERS: Readonly<Record<string, readonly string[]>> = {
  'tables of people and of calls': [
    '"Name";"E-Mail";"Version"\n"Bob Alicecan";"x@example.org";"1.2.3"',
    'clid,src,dst,duration\n"Bob Alicecan",100,101,5',
    'calldate,clid,src,dst\n2026-11-20 10:11:12,x,79160001122,100',
  ],
  'names before an address': ['Author: Bob Alicecan <x@example.org>\nDate: x'],
  'parameters of a statement': ["DETAIL:  parameters: $1 = '5', $2 = 'P@hunter2can'"],
  'lines of a password file': ['db.example.org:5432:app:alicecan:x12', 'localhost:5432:*:bob:hunter2can'],
  'addresses of three digits behind a dash': ['id=198.51.100.7:9093-203.0.113.77:36524-2'],
  'subject of exim': [
    '1abc <= a@example.org H=h [203.0.113.77] P=esmtps T="birthdaycan \\"of\\" birthdaycan" for b@c.org',
  ],
  'text of a form': ['Content-Disposition: form-data; name="subject"\n\nbirthdaycan\nbirthdaycan too\n--b'],
  'text below a key': ['body: >-\n  birthdaycan\n  birthdaycan\nnext: 1'],
  'numbers and addresses': [
    '+7916\u200b0001122 called',
    '8\u00a0916\u200b0001122 called',
    'from 203.0.\u00ad113.77',
    'to \u200balicecan\u200b@example.org',
    'mail:: YWxpY2VjYW5AZXhhbXBsZS5vcmc=',
  ],
};

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** What holds of every line, and the line after it. */
function redacted(text: string): string {
  const once = engine.text(text);
  const readable = once.replaceAll(INVISIBLE, '');
  assert.doesNotMatch(readable, LEAK, text);
  assert.ok(!readable.includes('YWxpY2VjYW'), text);
  assert.equal(engine.text(once), once, 'twice changes nothing');
  assert.equal(once.split('\n').length, text.split('\n').length);
  if (isJson(text)) assert.ok(isJson(once), once);
  return once;
}

for (const [family, lines] of Object.entries(USERS))
  test(`RED-03 RED-07 ${family}: the person has the pseudonym of every other syntax`, () => {
    for (const line of lines) assert.ok(redacted(line).includes(USER), `${line} → ${engine.text(line)}`);
  });

for (const [family, lines] of Object.entries(SECRETS))
  test(`RED-01 ${family}: the secret is gone`, () => {
    for (const line of lines) assert.match(redacted(line), /\[REDACTED:/);
  });

for (const [family, lines] of Object.entries(OTHERS))
  test(`RED-02 RED-04 RED-05 RED-06 ${family}: cannot be read`, () => {
    for (const line of lines) redacted(line);
  });

test('RED-05 a number in which nobody sees a character has the pseudonym of every other spelling', () => {
  assert.equal(engine.text('+7916\u200b0001122'), PHONE);
  assert.equal(
    engine.text("INSERT INTO a (id, phone) VALUES (1, '+79160001122')"),
    `INSERT INTO a (id, phone) VALUES (1, '${PHONE}')`,
  );
});

test('a value below its key ends with the indentation, and the lines behind it stay', () => {
  assert.equal(
    engine.text('db:\n  password: |\n    hunter2can\n    b\n  host: db.example.org\n  password:\nport: 5432\nuser:\n'),
    'db:\n  password: |\n    [REDACTED:secret]\n    [REDACTED:secret]\n  host: db.example.org\n  password:\nport: 5432\nuser:\n',
  );
});

test('a value below its key has so many lines and no more', () => {
  const lines = engine.text(`password: |\n${'  heron\n'.repeat(BLOCK_LINES_MAX + 1)}`).split('\n');
  assert.equal(lines.filter((line) => line.trim() === '[REDACTED:secret]').length, BLOCK_LINES_MAX);
  assert.equal(lines.at(-2), '  heron');
});

test('a part of a form that no boundary ends hides one line of a secret, and a text up to the next line of the log', () => {
  const head = (name: string): string => `Content-Disposition: form-data; name="${name}"\n\n`;
  assert.equal(engine.text(`${head('password')}hunter2can\nheron\n`), `${head('password')}[REDACTED:secret]\nheron\n`);
  const line = 'Nov 22 10:00:01 host app[7]: heron';
  assert.equal(
    engine.text(`${head('body')}one\ntwo\n${line}`),
    `${head('body')}[REDACTED:text]\n[REDACTED:text]\n${line}`,
  );
  const lines = engine.text(`${head('body')}${'heron\n'.repeat(BLOCK_LINES_MAX + 1)}`).split('\n');
  assert.equal(lines.filter((each) => each === '[REDACTED:text]').length, BLOCK_LINES_MAX - 1);
});

test('a value is read by a name three lines above it, and a row by 128 columns; beyond them as any text', () => {
  const pair = (lines: number): string =>
    engine.text(`- name: login${'\n  a: b'.repeat(lines - 1)}\n  value: alicecan`);
  assert.ok(pair(3).endsWith(USER));
  assert.ok(pair(4).endsWith('alicecan'));
  const row = (column: number): string =>
    engine.text(`INSERT INTO a (${'b,'.repeat(column - 1)}login) VALUES (${'1,'.repeat(column - 1)}'alicecan')`);
  assert.ok(row(128).includes(USER));
  assert.ok(row(129).includes('alicecan'));
});

test('lines are read alike however the stream is cut', () => {
  const text = [...Object.values(USERS), ...Object.values(SECRETS), ...Object.values(OTHERS)].flat().join('\n\n');
  const whole = engine.text(text);
  const bytes = Buffer.from(text);
  for (const width of [1, 7, 64, 1000]) {
    const stream = engine.stream();
    const pieces: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += width) pieces.push(stream.push(bytes.subarray(at, at + width)));
    assert.equal(Buffer.concat([...pieces, stream.end()]).toString(), whole, `${width} bytes`);
  }
});

test('a JSON value is read by its pairs, too', () => {
  assert.deepEqual(
    engine.value({
      env: [
        { name: 'DB_PASSWORD', value: 'hunter2can' },
        { name: 'MODE', value: 'fast' },
      ],
    }),
    {
      env: [
        { name: 'DB_PASSWORD', value: '[REDACTED:secret]' },
        { name: 'MODE', value: 'fast' },
      ],
    },
  );
});

test('a JSON value is read by its patches and its lists of people, too', () => {
  assert.deepEqual(engine.value({ op: 'replace', path: '/displayName', value: 'alicecan' }), {
    op: 'replace',
    path: '/displayName',
    value: USER,
  });
  assert.deepEqual(engine.value({ users: ['alicecan'], admins: 'some', recipients: 3 }), {
    users: [USER],
    admins: 'some',
    recipients: 3,
  });
});

test('a token behind an escape of JSON leaves the escape whole', () => {
  const text = JSON.stringify({ note: '\u00009855202778:AAlLdvEABQfNC3G9DtykrEs1sTT4SKTvPoH in' });
  assert.ok(isJson(engine.text(`bot ${text}`).slice('bot '.length)), engine.text(`bot ${text}`));
  assert.ok(isJson(engine.text(JSON.stringify(text))));
});

/** Lines that look alike and name nobody. */
const CLEAN = [
  '[orders,4f9a1c7e2b8d3f6a4f9a1c7e2b8d3f6a,b1ff48c46d0966b8] placed',
  'msg="shim disconnected" id=fe6a249a18c113803226ffb2da387a3793d1e098744669ecbfee85a8609b6557 namespace=moby',
  'Checking out a1b3f8a3a90a410f31466ba9723e7a1c6f41d31e as detached HEAD',
  'imap-login: Login: method=PLAIN, TLS',

  'INVITE SIP/2.0 over SIP/2.0/UDP',
  'SELECT a FROM b ORDER BY name FOR UPDATE',
  'INSERT INTO counts (id, total) VALUES (5, 7), (6, 8)',
  "SELECT 1 FROM a WHERE state IN ('open', 'shut') AND topic LIKE 'a%'",
  '{"name":"MODE","value":"fast"}',
  '{"key":"size","value":12}',
  'systemctl --user start chat.service',
  'pip install --user parley',
  'docker run --user 1000:1000 -u 33 image',
  'users: 5 owners=7 {"users":12,"admins":"none"}',
  'users:\n  total 5\n  shown 7',
  'users:\n  - name:\n    keys:\n      - ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOIv5GoeFzKn4GU3NVM3YlaXO62tvyfjCwHxcMO9MgzM',
  'name,size,src,dst\nboot,12,sda,sdb',
  'router "web@docker" and "api@kubernetescrd"',
  'Call-ID: c56bb2950e71e826@node-5.example.org',
  'GIT_COMMIT=ffe410e87a84fd234a1a0f17c35d92d7b29f0f77',
  '{"node.id":"9hcMwuhEpWdzPhXJyAfzmI","request.id":"aGcMwuhEpWdzPhXJyAfzmI"}',
  'uidNumber: 19893036',
  'main.c:12:5:error:x',
  '{"path":"/v1/auth/token","value":12}',
  'sn: 5CG1234XYZ',
  'error: invalid token\n    at Lane.commit (lane.ts:5:3)\n    at run (main.ts:1:1)',
  'login:\n    at Lane.commit (lane.ts:5:3)',
  'sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups',
  'sshd: [accepted]',
  'postgres: checkpointer',
  '1abc => /var/mail T=local_delivery R=local',
  'issuer=CN = chat.example.org, O = Example',
  '/home/deploy/app/node_modules/.bin/tsc',
  'Processing 5 files <none>',
  'T=5 U=3 R=2 o=1',
  'the password is required, the password is too short, and the password is stored hashed',
  'Password policy',
  'Password required',
  "['Cookie', 'Authorization', 'Accept']",
  '{"headers":["Cookie","Authorization","Accept"]}',
  '<tr><td>user</td><td>password</td></tr>',
];

test('RED-01 a plain word told of as the password goes, and so does one beside its name', () => {
  assert.equal(engine.text('password is lamplight'), 'password is [REDACTED:secret]');
  assert.equal(
    engine.text('Password lamplight\nSecret lamplight'),
    'Password [REDACTED:secret]\nSecret [REDACTED:secret]',
  );
});

test('RED-01 a key goes on behind its headers, however many strings a collector has in each line', () => {
  const body = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj';
  const lines = ['-----BEGIN RSA PRIVATE KEY-----', 'Proc-Type: 4,ENCRYPTED', 'DEK-Info: x', '', body, 'hunter2canQ='];
  const log = lines.map((line) => JSON.stringify({ log: `${line}\n`, stream: 'stdout', time: '2026-11-20T10:11:12Z' }));
  const outcome = redacted(log.join('\n'));
  assert.doesNotMatch(outcome, /:random\]/);
});

test('RED-01 what is random stays behind the name of a blob only where it is its digest', () => {
  const random = 'uRM3QKAr5lCC7O4x4LjNzAgcFeveo20dipfqktodA';
  assert.equal(engine.text(`blob=${random} n=1`), 'blob=[REDACTED:random] n=1');
  const digest = 'blob 3b18e512dba79e4c8300dd08aeb37f8e728b8dad';
  assert.equal(engine.text(digest), digest);
});

test('RED-12 what follows an element ends with it', () => {
  const next = 'served in 5 ms by web01';
  assert.equal(engine.text(`<login id="3" n="x"/>\n${next}`).split('\n')[1], next);
  assert.equal(
    engine.text('<message>Cookie: sid=abc; lang=de</message>'),
    '<message>Cookie: [REDACTED:cookie]</message>',
  );
});

test('RED-12 lines that only look alike stay as they are', () => {
  for (const line of CLEAN) assert.equal(engine.text(line), line);
});
