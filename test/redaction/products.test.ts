/**
 * What logs of other products taught, judged by their own labels (docs/decisions.md, 2026-11-27): people who were read
 * there, and things that were taken for people. All values are invented.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REPEAT_LINE_MAX, REPEAT_NAMES_MAX } from '#src/redaction/identifiers/repeats.ts';
import { Redactor } from '#src/redaction/redactor.ts';
import { KEY } from './corpus/labels.ts';

const engine = new Redactor({ key: KEY });

/** The text without the signs around what goes, and the pattern of what it must become. */
function check(example: string): void {
  const outcome = engine.text(example.replaceAll(/[«»]/gu, ''));
  const pieces = example.split(/«[^»]*»/u).map((piece) => piece.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`));
  assert.match(
    outcome,
    new RegExp(`^${pieces.join(String.raw`(?:\[REDACTED:[a-z-]+\]|(?:u|tel)-[0-9a-f]{8}|x)`)}$`, 'u'),
  );
  assert.equal(engine.text(outcome), outcome);
}

const FAMILIES: Readonly<Record<string, readonly string[]>> = {
  'RED-03 an object that a person is in names them further down': [
    '{"user":{"name":"«kalomi»","effective":{"id":"0","name":"«osvuh»"},"group":{"name":"staff"}}}',
    '{"user":{"audit":{"name":"«kalomi»","id":"1000"}}}',
    '{"actor_details":{"uuid":"7","name":"«Kalomi Ren»"}}',
    '{"userInfo":{"name":"«kalomi»"},"hostInfo":{"name":"web01"}}',
    '{"summary":{"actor":{"primary":"«kalomi»","secondary":"«osvuh»"},"object":{"primary":"/bin/ls"}}}',
  ],
  'RED-03 a name beside an address of mail is that of a person': [
    '{"name":"«Kalomi Ren»","email":"«kalomi»@example.org"}',
    '{"id":7,"name" : "«Kalomi Ren»","groups":["a","b"],"department":"sales","email" : "«kalomi»@example.org"}',
    '{"email":"«kalomi»@example.org","name":"«Kalomi Ren»"}',
    '{"name":"web01","x":1},{"email":"«kalomi»@example.org"}',
    '{"name":"web01","contact":{"email":"«kalomi»@example.org"}}',
  ],
  'RED-03 an e-mail that is none is the name of whoever signed in': [
    '{"ip":"127.0.0.1","email":"«kalomi»"}',
    '{"ip":"127.0.0.1","user_email":"«kalomi.ren»","x":1}',
    '{"email":"sent","email_verified":true,"mail":"/var/mail/x","email":"web01.example.org","email":""}',
  ],
  'RED-03 a domain of Windows before a name says that it is one': [
    '{"requester":"CORP\\\\«kalomi»","attributes":"x"}',
    '{"owner":"CORP-NET\\\\«kalomi.ren»"}',
    'unauthuser="corp.example\\«kalomi»" x=1',
    '{"cs-userdn":"CORP\\\\«kalomi»"}',
    '{"message":"account added: CORP\\\\«kalomi»"}',
    '{"key":"HKLM\\\\Software","image":"SYSTEM32\\\\DRIVERS","group":"BUILTIN\\\\Administrators","x":"C:\\\\Temp"}',
    '{"device":"\\\\\\\\.\\\\COM1","share":"\\\\\\\\SRV01\\\\Data","path":"BIN\\\\tool.exe"}',
  ],
  'RED-03 a name in capitals before its address in brackets': [
    '{"message":"«Kalomi Ren» («kalomi»@example.org) made a token"}',
    '"2026-11-20","«Kalomi REN» («kalomi»@example.org)","web01"',
    '{"message":"sent to Corp Portal («kalomi»@example.org)","x":"User Deleted («kalomi»@example.org)"}',
  ],
  'RED-03 vendors put their name before that of a field, and logs have names of fields in other languages': [
    'CEF:0|X|Y|1|2|n|3|suser=«kalomi» FTNTFGTsender=«kalomi» FTNTFGTunauthuser=«osvuh» FTNTFGTunauthusersource=kerberos',
    'FTNTFGTsubject=«see you» act=x',
    '(utilisateur=CORP\\«kalomi.ren»).',
    '{"Initiated by":"«kalomi»","who":"«osvuh»","level":"INFO"}',
    'ActingObjectSAM=«kalomi» ActingObjectDomain=corp',
    '{"performed_by":{"type":"customer","name":"«kalomi»"},"approver_name":"«osvuh»","sorted_by":"name"}',
  ],
  'RED-03 an access log has its time in other forms': [
    '192.0.2.«7» - «kalomi» [02/07/2026 07:51:20] "GET http://example.com/ HTTP/1.1" 403 - -',
    '192.0.2.«7» - - [02/07/2026 07:51:20] "GET http://example.com/ HTTP/1.1" 403 - -',
  ],
  'RED-03 RED-06 what stands behind the name of a phrase is scanned, too': [
    'User «kalomi@corp.example»@203.0.113.«7» logged in with response code 200',
    '[User CORP\\«kalomi»@203.0.113.«7» logged in as «osvuh»]'.replace('CORP\\«kalomi»', '«CORP\\kalomi»'),
  ],
  'RED-06 an address with a port of a form of its own': [
    'MACHINE-F380 [«master»@203.0.113.«7»_36778]  Download',
    'permitted udp CORE/203.0.113.«7»(161) hit-cnt 1',
    'agent curl/7.81.0.1 (x86)',
  ],
  'RED-03 RED-06 JSON in JSON in JSON has its tabs escaped twice': [
    '{"m":"Network Address:\\\\t203.0.113.«7»\\\\n\\\\tAccount Name:\\\\t\\\\t«kalomi»\\\\r\\\\nx"}',
    '{"m":"C:\\\\temp\\\\name.log"}',
  ],
  'RED-02 a line of laid-out JSON stays JSON where it holds no text': [
    '  "subject": null,',
    '  "subject": true,\n  "password": null\n  "user": false',
  ],
  'RED-03 a cell whose beginning was not seen has doubled quotes': [
    'ref=""http://x"" user=""«kalomi»"" group=""staff"" n=1',
  ],
  'RED-03 a domain in small letters is one in a field of its own': [
    '1,10.0.0.«7»,corp\\«kalomi»,web01',
    '{"entityValue":"corp\\\\«kalomi»"}',
    '{"entityValue":"Microsoft\\\\Windows","x":"bin\\\\tool.exe","y":"see bin\\\\tool now"}',
  ],
  'RED-03 an access log may have no time behind the name': [
    '[info] 203.0.113.«7» - «kalomi» "POST /json-api/batch HTTP/1.1" FAILED LOGIN',
    '[info] 203.0.113.«7» - - "POST /json-api/batch HTTP/1.1"',
  ],
  'RED-12 bytes of an answer are no name': ['192.0.2.«7» 0.002 "GET / HTTP/1.1" 401 77 935 - Kuma/1.23'],
  'RED-03 a person that a line names is hidden wherever else the line has the name': [
    'user=«kalomi» op=login detail="sent by «kalomi», twice" owner_of=«kalomi»',
    '{"userName":"«kalomi.ren»","key":"«kalomi.ren»","note":"seen: «kalomi.ren»"}',
    '{"displayName":"«Kalomi Ren»","why":"made by «Kalomi Ren»."}',
    'Invalid user «kalomi» from 192.0.2.«7»: no «kalomi» here',
  ],
  'RED-12 and no thing that is called alike': [
    'user=«kalomi» db=kalomi host=kalomi path=/home/kalomi/x mail.kalomi.example kalomi-web kalomi=5 C:\\Users\\kalomi\\x token=kalomi'.replace(
      'token=kalomi',
      'token=«kalomi»',
    ),
    'user=«grafana» grafana is up; user=«bob» bob',
    '{"user":"«kalomi»","kalomi":1,"database":"kalomi"}',
    'user=«xxxxx» note xxxxx ProfileToken=xxxxx',
  ],
  'RED-03 a key of several words on a line of laid-out JSON is one name': [
    '    "Initiated by": "«kalomi»",',
    '  "Approved by": "«Kalomi Ren»"\n  "Sorted by": "name"',
  ],
  'RED-03 last says of a user when, and not what': [
    '{"lastLoggedInUserName":"«kalomi»","last_login":"yesterday"}',
    'last_user=«kalomi» last_login=17',
  ],
  'RED-12 the display name of a thing is none of a person': [
    '{"activityDisplayName":"Add member to group","appDisplayName":"Mail of Corp","displayName":"«Kalomi Ren»"}',
    'policyDisplayName="Block all" resource_display_name="Vault 7" user_display_name="«Kalomi Ren»"',
    '{"type":"AppInstance","displayName":"Corp Portal"}',
    '{"displayName":"WEB01","type":"Device"}',
    '{"deviceDetail":{"deviceId":"7","displayName":"WEB01"},"userDetail":{"displayName":"«Kalomi Ren»"}}',
  ],
  'RED-12 the name of a message of a router is no key': [
    '%SYS-5-PRIV_AUTH_PASS: Privilege level set to 1',
    '%AUTHMGR-5-SEC_TOKEN: Authorization succeeded for it',
  ],
  'RED-12 a line of a log is no text of an element that ended the line before': [
    'rejected: need a name; proto=SMTP helo=<User>\nMar 7 02:09:33 mx1 postfix/smtpd[7]: connect\nMar  7 02:09:34 mx1 x',
    'helo=<User>\n2026-11-20 10:11:12 mx1 up',
  ],
  'RED-12 a policy of a directory has an id and no person': [
    '"CN={3D4A6260-9000-4000-B000-DC6D41900000},CN=Policies,DC=corp"',
  ],
  'RED-06 an address in the place of a name is an address': [
    'Connection closed by invalid user 203.0.113.«7» port 36797 [preauth]',
    'Invalid user 203.0.113.«7» from 192.0.2.«9» port 3',
  ],
  'RED-04 what was done once is no new name': [
    '{"to_header":"\\"«kalomi»@example.org\\" <«kalomi»@example.org>"}',
    'Configured from vty by «kalomi» on 192.0.2.«7»@pts/0',
    'issuer kalomi@01h90ampkvn2wy0e10sgyx174d is known'.replace(
      '01h90ampkvn2wy0e10sgyx174d',
      '«01h90ampkvn2wy0e10sgyx174d»',
    ),
  ],
};

for (const [family, examples] of Object.entries(FAMILIES))
  test(family, () => {
    for (const example of examples) check(example);
  });

test('RED-03 a name is looked for in lines of 64 KiB, and eight names of a line; beyond that where they stand as such', () => {
  const filler = 'z '.repeat((REPEAT_LINE_MAX - 'user=kalomi a kalomi'.length) / 2);
  const line = `user=kalomi a${' '.repeat(REPEAT_LINE_MAX - 'user=kalomi akalomi'.length - filler.length)}${filler}kalomi`;
  assert.equal(line.length, REPEAT_LINE_MAX);
  assert.doesNotMatch(engine.text(line), /kalomi/);
  assert.match(engine.text(`${line}z`.replace('kalomiz', ' kalomi')), /^user=u-[0-9a-f]{8} a .* kalomi$/);
  const names = Array.from({ length: REPEAT_NAMES_MAX + 1 }, (_each, at) => `kalomi${at}`);
  const outcome = engine.text(`${names.map((name) => `user=${name}`).join(' ')} of: ${names.join('; ')}`);
  assert.match(outcome, new RegExp(`; kalomi${REPEAT_NAMES_MAX}$`));
  assert.equal(outcome.match(/kalomi/g)?.length, 1);
});
