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
  ];
  return new Map(
    pieces.map(([name, piece]) => [name, Buffer.from(piece.repeat(Math.ceil(bytes / piece.length)).slice(0, bytes))]),
  );
}
