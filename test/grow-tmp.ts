const root = process.argv[2] === '.' ? '/work/wt/redaction' : process.argv[2];
const { Redactor } = await import(root + '/src/redaction/redactor.ts');
const { mixedLog } = await import('/work/wt/redaction/bench/micro/redaction-log.ts');
const r = new Redactor({ key: Buffer.alloc(32, 7) });
const base = Number(process.argv[3] ?? 262144);
const ms = (b) => { const s = process.cpuUsage(); r.bytes(b); const u = process.cpuUsage(s); return (u.user + u.system) / 1e3; };
const ord = mixedLog(base * 4, 7, false); ms(ord); ms(ord);
const plain = Math.min(ms(ord), ms(ord)) / 4;
const pieces = process.argv[4] ? JSON.parse(process.argv[4]) : ['a', '@a', 'password=', 'user="', '://a:', 'a:', '8 ', '%25', '-----BEGIN PRIVATE KEY-----', 'a+', 'eyJ.', 'to=<', '\\u002b', 'Invalid user ', '{"name":"a","value":"', "INSERT INTO a (b, name) VALUES ('", 'user: |\n  a\n', '<password>', 'sip:', 'tel:+', 'sip:a:', '[REDACTED:', '<password a="', '<a:user ', '(alice', 'user "', "user='", '""a', '"\\"', '"a\\n', '{"a":', '[[', '{"a":[', '&quot;', '&#43;', '=3D', '=D0=B5', 'a=\n', '=\n', '1.2.3.', '1:2:', '::', '+7 ', '+1-', 'Bearer ', 'authorization: none ', '"authorization: none ', 'cookie: a', 'subject=', ' from a[b]', 'Failed password for ', 'a/b/', 'A1b2/', 'C3d4+', '-u a ', '--user ', '$1 = \'', '$2b$10$', '=?UTF-8?B?', 'name="user" value=', 'key: ', 'user.', 'a.user=', 'user ', 'token: ', 'uid=', 'cn=', 'dn: uid=a,', 'Private-Lines: 9\n', 'form-data; name="password"\n\n', 'users:\n- a\n', '\u001b[0m', '\u200b', '#033[1m', '\\x1b[1m', 'eyJhbGciOiJ.', 'sk-', 'pat', 'define(\'PASSWORD\',', '{password,"', ',""', '"a""b', 'SET PASSWORD FOR a ', 'su for ', 'by a(', 'LIKE \'', 'IN (', 'WebKitFormBoundary', 'https:\\/\\/a:b', '://a:b/c', 'code=1', 'R= ', '=> a R=', 'tcp(', 'a@tcp(', '"user" <a@', '>, a <', '\\', '\\\\"', 'MIIE' + 'aB3'.repeat(20) + '\n', '{"log":"MIIEaB3aB3aB3aB3", "x":"', '\0', ' = ', 'password ', 'x'.repeat(63) + ' '];
for (const piece of pieces) {
  const make = (n) => Buffer.from(piece.repeat(Math.ceil(n / Buffer.byteLength(piece)))).subarray(0, n);
  ms(make(65536)); const one = ms(make(base)); 
  const flag = one / plain;
  if (flag > 3) { const two = ms(make(base * 2)); console.log(JSON.stringify(piece).slice(0, 40), 'x ordinary', flag.toFixed(1), 'growth', (two / one).toFixed(2), one.toFixed(0) + 'ms'); }
}
console.log('plain', plain.toFixed(1), 'ms for', base);
