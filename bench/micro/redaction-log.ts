/** The log that the redaction bench reads: what sshd, mail, web, databases and the server itself write, by a seed. */

/** A linear congruential generator: the same log for the same seed on every machine. */
function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state;
  };
}

const CYRILLIC = ['сеанс открыт', 'сообщение принято', 'узел молчит', 'соединение закрыто', 'проверка пройдена'];
const LATIN = ['session opened', 'message accepted', 'node silent', 'connection closed', 'check passed'];

/** Lines until there are `bytes` of them; with `isCyrillic` every message is in Russian. */
export function mixedLog(bytes: number, seed: number, isCyrillic: boolean): Buffer {
  const next = numbers(seed);
  const below = (limit: number): number => next() % limit;
  const said = isCyrillic ? CYRILLIC : LATIN;
  const lines: string[] = [];
  for (let size = 0, n = 0; size < bytes; n += 1) {
    const ip = `203.0.${below(200)}.${below(250)}`;
    const time = `10:${10 + below(50)}:${10 + below(50)}`;
    const text = said[below(said.length)] as string;
    const shapes = [
      `Nov 20 ${time} host-${below(9)} sshd[${below(9999)}]: Failed password for user${below(500)} from ${ip} port ${below(60_000)} ssh2`,
      `{"level":30,"time":${1_790_000_000_000 + n},"pid":7,"reqId":"req-${n}","req":{"method":"GET","url":"/v1/inbox?after=${n}","remoteAddress":"${ip}"},"responseTime":${below(90)}.25,"msg":"${text}"}`,
      `${ip} - - [20/Nov/2026:${time} +0000] "GET /static/app-${below(90)}.js HTTP/1.1" 200 ${below(90_000)} "https://chat.example.org/rooms" "Mozilla/5.0 (X11; Linux x86_64) Chrome/118.0.5993.117"`,
      `2026-11-20T${time}.${100 + below(900)}Z info storage: commit lane=${below(4)} batch=${below(64)} bytes=${below(90_000)} took=1.${below(10)}ms ${text}`,
      `level=info ts=2026-11-20T${time}Z caller=server.go:${below(900)} msg="${text}" user=alice${below(300)} device=d_${n} proto=7`,
      `Nov 20 ${time} mail postfix/smtpd[${below(9999)}]: 4F2${below(999)}: client=mx${below(5)}.example.org[${ip}], sasl_username=bob${below(300)}@example.org`,
      `Nov 20 ${time} db kernel: [${n}.123456] usb 1-1: ${text}, device number ${below(9)} using xhci_hcd`,
      `2026-11-20 ${time},${100 + below(900)} WARN org.example.Pool: waited ${below(900)} ms, ${text}, /var/lib/app/data-${below(90)}.db`,
      `Nov 20 ${time} app[7]: Authorization: Bearer x${next().toString(36)}Y${next().toString(36)}Z token=${next().toString(36)}Q${next().toString(36)}`,
    ];
    const line = shapes[below(shapes.length)] as string;
    lines.push(line);
    size += line.length + 1;
  }
  return Buffer.from(`${lines.join('\n')}\n`);
}

/**
 * Lines of many programs with a person, a number or a secret in almost each of them: twice as many finds as in the log
 * above, in JSON within JSON, CSV, XML, YAML, queries and what daemons say.
 */
export function variedLog(bytes: number, seed: number): Buffer {
  const next = numbers(seed);
  const below = (limit: number): number => (next() >>> 8) % limit;
  const word = (length: number): string =>
    Array.from({ length }, () =>
      'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'.charAt(below(62)),
    ).join('');
  const lines: string[] = [];
  for (let size = 0, n = 0; size < bytes; n += 1) {
    const ip = `10.${below(200)}.${below(200)}.${below(250)}`;
    const time = `10:${10 + below(50)}:${10 + below(50)}`;
    const name = `${['kalomi', 'osvuh', 'renfen', 'tosbar'][below(4)] as string}.${['dragon', 'helwi', 'zitul'][below(3)] as string}${below(90)}`;
    const shapes = [
      `Nov 20 ${time} host-${below(9)} sshd[${below(9999)}]: Accepted publickey for ${name} from ${ip} port ${below(60_000)} ssh2: ED25519 SHA256:${word(43)}`,
      JSON.stringify({
        log: `${JSON.stringify({ level: 30, user: name, ip, msg: 'session opened' })}\n`,
        stream: 'stdout',
        time: `2026-11-20T${time}Z`,
      }),
      `{"level":30,"time":${1_790_000_000_000 + n},"req":{"method":"POST","url":"/v1/auth?login=${name}%40example.org&token=${word(24)}","headers":{"authorization":"Bearer ${word(40)}","cookie":"sid=${word(24)}"}},"phone":7916${1_234_000 + below(900)}}`,
      `2026-11-20,${n},"{""user"":""${name}"",""ip"":""${ip}""}",200`,
      `<entry id="${n}"><login>${name}</login><password>${word(9)}</password><host>db${below(9)}.example.org</host></entry>`,
      `081109 ${100_000 + below(99_999)} ${below(900)} INFO dfs.DataNode$DataXceiver: Receiving block blk_${below(1e9)}${below(1e9)} src: /${ip}:${below(60_000)} dest: /${ip}:50010`,
      `time="2026-11-20T${time}Z" level=warning msg="call to +7 916 ${100 + below(9)}-${10 + below(9)}-${10 + below(9)} failed\\nretry" user=${name} caller=auth/login.go:${below(90)}`,
      `Nov 20 ${time} mx postfix/smtpd[${below(9999)}]: 4F2${below(999)}: client=unknown[${ip}], sasl_method=PLAIN, sasl_username=${name}@example.org`,
      `2026-11-20 ${time},${100 + below(900)} ERROR org.example.Pool: cannot open postgres://${name}:${word(10)}@db${below(9)}.internal:5432/main?ssl=true`,
      `[Fri Nov 20 ${time} 2026] [error] [client 2001:db8:${below(900)}:1::${below(9000)}:${50_000 + below(9000)}] AH01617: user ${name}: authentication failure for "/private": Password Mismatch`,
      `Nov 20 ${time} db kernel: [${n}.123456] usb 1-1: new high-speed USB device number ${below(9)} using xhci_hcd`,
      `config: {db_host: db${below(9)}, db_password: ${word(11)}, retries: 3, owner: ${name}}`,
    ];
    const line = shapes[below(shapes.length)] as string;
    lines.push(line);
    size += line.length + 1;
  }
  return Buffer.from(`${lines.join('\n')}\n`);
}

/** Lines of a megabyte that make careless patterns walk the same bytes again and again. */
export function hostileLines(bytes: number): ReadonlyMap<string, Buffer> {
  const pieces: readonly (readonly [string, string])[] = [
    ['letters', 'a'],
    ['at signs', '@a'],
    ['keys', 'password='],
    ['open quotes', 'user="'],
    ['URLs', '://a:'],
    ['colons', 'a:'],
    ['digits', '8 '],
    ['percent', '%25'],
    ['key headers', '-----BEGIN PRIVATE KEY-----'],
    ['base64 slashes', 'a+'],
    ['tokens', 'eyJ.'],
    ['brackets', 'to=<'],
    ['backslashes', '\\u002b'],
    ['sshd', 'Invalid user '],
    ['pairs', '{"name":"a","value":"'],
    ['rows', "INSERT INTO a (b, name) VALUES ('"],
    ['blocks', 'user: |\n  a\n'],
    ['elements', '<password>'],
    ['URIs of calls', 'sip:'],
    ['numbers of URIs', 'tel:+'],
    ['URIs with colons', 'sip:a:'],
    ['markers', '[REDACTED:'],
    ['strings that are open', '"a\\n'],
    ['cells', '"a""b'],
    ['references', '&quot;'],
    ['codes', '=3D'],
    ['soft breaks', 'a=\n'],
    ['objects', '{"a":'],
    ['lists', '[['],
    ['drivers', 'a@tcp('],
    ['headers', '"authorization: none '],
    ['colours', '\u001b[0m'],
    ['spaces that do not break', '\u00a0'],
    ['thin spaces', '\u2009'],
    ['texts in a row', 'text=a, '],
    ['texts in a quote', 'text=a " text=a, '],
    ['tags', '<a>'],
    ['tags with attributes', '<a b="c">'],
    ['cells of HTML', '<td>user</td>'],
    ['names of HTML', '<td>user</td><td>'],
    ['numbers without digits', 'tel:'],
    ['numbers with letters', 'tel:a'],
    ['changes', 'password -> x -> '],
    ['dumps', '["user"]=>\n'],
    ['pairs in lists', '[["user", '],
    ['bodies', 'body: "\n'],
    ['brackets that are open', 'secret=['],
    ['drawn cells', '| a '],
    ['options', '--user '],
    ['headers in a list', "'X-Api-Key', "],
    ['sentences', 'password is '],
    ['cookies', 'Cookie: a\n b\n'],
    ['captures', '1.2.3.4.5 > '],
    ['binaries', '<<"user">> => '],
    ['names of a certificate', 'CN='],
  ];
  return new Map(
    pieces.map(([name, piece]) => [name, Buffer.from(piece.repeat(Math.ceil(bytes / piece.length)).slice(0, bytes))]),
  );
}
