/** Credentials that travel in requests: headers, cookies, signed tokens, addresses with a password, the platform's own tokens. */
import type { SeededRandom } from '#test/support/random.ts';
import { BASE62, BASE64, BASE64URL, bytes, DIGITS, draw, drawMixed, HEX } from './alphabets.ts';
import { buriedUser, hidden, mark, type Marked, type Shape } from './labels.ts';
import { HOSTS, userName } from './words.ts';

const ID_SYMBOLS = '0123456789abcdefghjkmnpqrstvwxyz';

function signedPart(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** A signed session token with the platform's claims. */
export function sessionToken(random: SeededRandom): string {
  const iat = 1_790_000_000 + random.whole(0, 999_999);
  const claims = {
    sub: userName(random),
    sid: `s_${draw(random, ID_SYMBOLS, 22)}`,
    dev: `d_${draw(random, ID_SYMBOLS, 22)}`,
    exp: iat + 900,
    iat,
    rnw: iat + 2_592_000,
  };
  return `${signedPart({ alg: 'HS256', typ: 'JWT' })}.${signedPart(claims)}.${drawMixed(random, BASE64URL, 43)}`;
}

/** A vendor token, whose id and secret are drawn. */
export function vendorToken(random: SeededRandom): string {
  return `svc_vst_${draw(random, ID_SYMBOLS, random.pick([12, 22]))}_${drawMixed(random, BASE64URL, 43)}`;
}

function platform(name: string, make: (random: SeededRandom) => string): Shape {
  return { name, class: 'platform-token', known: 'bare', make: (random) => hidden('platform-token', make(random)) };
}

function platformLine(name: string, make: (random: SeededRandom) => Marked): Shape {
  return { name, class: 'platform-token', known: 'line', make };
}

function access(path: Marked, status: number): Marked {
  return mark`"GET ${path} HTTP/1.1" ${status} 0 "-" "parley/1.4"`;
}

export const PLATFORM_SHAPES: readonly Shape[] = [
  platform('vendor token', vendorToken),
  platform('bot token', (random) => `bot_${drawMixed(random, BASE64URL, 43)}`),
  platform('webhook token', (random) => `hook_${draw(random, ID_SYMBOLS, 22)}_${drawMixed(random, BASE64URL, 43)}`),
  platform('short bot token', (random) => `bot_${drawMixed(random, BASE62, 24)}`),
  platform('session token', sessionToken),
  platform('console session', (random) => `adm_${drawMixed(random, BASE64URL, 43)}`),
  platform('node token', (random) => `node_n_${draw(random, ID_SYMBOLS, 22)}_${drawMixed(random, BASE64URL, 43)}`),
  platform('join token', (random) => `join_n_${draw(random, ID_SYMBOLS, 22)}_${drawMixed(random, BASE64URL, 43)}`),
  {
    name: 'token under its header',
    class: 'platform-token',
    known: 'keyed',
    keys: ['X-Node-Token', 'X-Admin-Token', 'x-node-token', 'x-admin-token'],
    make: (random) => hidden('platform-token', drawMixed(random, BASE64URL, random.pick([22, 32, 43]))),
  },
  platformLine('socket handshake', (random) => {
    const token = hidden(
      'platform-token',
      random.chance(0.5) ? sessionToken(random) : drawMixed(random, BASE64URL, 32),
    );
    const path = random.chance(0.5)
      ? mark`/v1/ws?token=${token}&device=d_${draw(random, ID_SYMBOLS, 22)}`
      : mark`/v1/ws?device=d_${draw(random, ID_SYMBOLS, 22)}&token=${token}`;
    return access(path, 101);
  }),
  platformLine('token in a referrer', (random) => {
    const token = hidden('platform-token', drawMixed(random, BASE64URL, 32));
    return mark`"GET /app.js HTTP/1.1" 200 512 "https://chat.example.org/app/?token=${token}" "Mozilla/5.0"`;
  }),
  platformLine('invitation in a path', (random) => {
    const invitation = hidden('platform-token', `inv_${draw(random, ID_SYMBOLS, 32)}`);
    return mark`"POST /v1/enroll/${invitation} HTTP/1.1" ${random.pick([200, 410])} 88 "-" "parley/1.4"`;
  }),
  platformLine('invitation as a link', (random) => {
    const invitation = hidden('platform-token', drawMixed(random, BASE64URL, 32));
    return mark`invitation made url=https://chat.example.org/v1/enroll/${invitation} expires_in=86400`;
  }),
  platformLine(
    'admin token in a header dump',
    (random) => mark`> X-Admin-Token: ${hidden('platform-token', drawMixed(random, BASE64URL, 43))}`,
  ),
];

export const SIGNED_SHAPES: readonly Shape[] = [
  {
    name: 'jwt with a compact header',
    class: 'jwt',
    known: 'bare',
    make: (random) => {
      const claims = signedPart({ iss: 'https://id.example.org', sub: userName(random), jti: draw(random, HEX, 16) });
      return hidden(
        'jwt',
        `${signedPart({ alg: 'RS256', kid: draw(random, HEX, 8) })}.${claims}.${drawMixed(random, BASE64URL, 342)}`,
      );
    },
  },
  {
    name: 'jwt without a signature',
    class: 'jwt',
    known: 'bare',
    make: (random) =>
      hidden(
        'jwt',
        `${signedPart({ alg: 'none' })}.${signedPart({ sub: userName(random), n: random.whole(1, 9e6) })}.`,
      ),
  },
  {
    name: 'jwt with a spaced header',
    class: 'jwt',
    known: 'bare',
    make: (random) => {
      const header = Buffer.from('{ "alg": "HS256", "typ": "JWT" }').toString('base64url');
      return hidden(
        'jwt',
        `${header}.${signedPart({ aud: 'api', sub: userName(random) })}.${drawMixed(random, BASE64URL, 43)}`,
      );
    },
  },
  {
    name: 'jwt with a pretty header',
    class: 'jwt',
    known: 'bare',
    make: (random) => {
      const header = Buffer.from('{\n  "alg": "ES256"\n}').toString('base64url');
      return hidden(
        'jwt',
        `${header}.${signedPart({ aud: 'api', sub: userName(random) })}.${drawMixed(random, BASE64URL, 86)}`,
      );
    },
  },
  {
    name: 'encrypted jwt of five parts',
    class: 'jwt',
    known: 'bare',
    make: (random) => {
      const parts = [342, 16, 120, 22].map((length) => drawMixed(random, BASE64URL, length));
      return hidden('jwt', [signedPart({ alg: 'RSA-OAEP', enc: 'A256GCM' }), ...parts].join('.'));
    },
  },
];

function scheme(random: SeededRandom): Marked {
  const secret = (length: number, alphabet = BASE64URL): Marked =>
    hidden('authorization', drawMixed(random, alphabet, length));
  const login = Buffer.from(`${userName(random)}:${drawMixed(random, BASE62, 14)}`).toString('base64');
  switch (random.whole(0, 7)) {
    case 0:
      return mark`Basic ${hidden('authorization', login)}`;
    case 1:
      return mark`Bearer ${hidden('authorization', sessionToken(random))}`;
    case 2:
      return mark`Bearer ${secret(random.pick([12, 20, 40]))}`;
    case 3:
      return mark`Token ${secret(40, HEX + BASE62)}`;
    case 4:
      return mark`ApiKey ${secret(48)}`;
    case 5:
      return mark`Negotiate ${hidden('authorization', bytes(random, 120).toString('base64'))}`;
    case 6:
      return mark`NTLM ${hidden('authorization', `TlRMTVNTUAAB${bytes(random, 36).toString('base64')}`)}`;
    default:
      return mark`AWS4-HMAC-SHA256 Credential=${hidden('authorization', `AKIA${draw(random, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', 16)}`)}/20261120/eu-west-1/s3/aws4_request, SignedHeaders=host;x-amz-date, Signature=${hidden('authorization', draw(random, HEX, 64))}`;
  }
}

function digestHeader(random: SeededRandom): Marked {
  return mark`Digest username="${buriedUser(userName(random))}", realm="example.org", nonce="${draw(random, HEX, 16)}", uri="sip:example.org", response="${hidden('authorization', draw(random, HEX, 32))}", algorithm=MD5`;
}

const HEADERS = ['Authorization', 'authorization', 'Proxy-Authorization', 'proxy-authorization'];

export const AUTHORIZATION_SHAPES: readonly Shape[] = [
  { name: 'authorization header', class: 'authorization', known: 'keyed', keys: HEADERS, isSpaced: true, make: scheme },
  { name: 'digest header', class: 'authorization', known: 'keyed', keys: HEADERS, isSpaced: true, make: digestHeader },
  {
    name: 'header dump',
    class: 'authorization',
    known: 'line',
    make: (random) => mark`> ${random.pick(HEADERS)}: ${scheme(random)}`,
  },
  {
    name: 'sip header',
    class: 'authorization',
    known: 'line',
    make: (random) => mark`Authorization: ${digestHeader(random)}`,
  },
  {
    name: 'bare bearer',
    class: 'authorization',
    known: 'line',
    make: (random) =>
      mark`upstream refused Bearer ${hidden('authorization', drawMixed(random, `${BASE64URL}.~`, random.pick([10, 24, 48])))} after 3 tries`,
  },
  {
    name: 'bare basic',
    class: 'authorization',
    known: 'line',
    make: (random) => {
      const login = Buffer.from(`${userName(random)}:${drawMixed(random, BASE62, 12)}`).toString('base64');
      return mark`proxy sent Basic ${hidden('authorization', login)} to ${random.pick(HOSTS)}`;
    },
  },
  {
    name: 'header of a shell command',
    class: 'authorization',
    known: 'line',
    make: (random) =>
      mark`COMMAND=/usr/bin/curl -s -H 'Authorization: ${scheme(random)}' https://api.example.org/v2/items`,
  },
  {
    name: 'header map of a program',
    class: 'authorization',
    known: 'line',
    make: (random) =>
      mark`request headers map[Accept:[*/*] Authorization:[Bearer ${hidden('authorization', drawMixed(random, BASE64URL, 32))}] Host:[api.example.org]]`,
  },
];

function cookies(random: SeededRandom): Marked {
  const session = hidden('cookie', drawMixed(random, BASE62, random.pick([16, 26, 32])));
  const other = hidden('cookie', draw(random, DIGITS, 12));
  return random.chance(0.5)
    ? mark`sid=${session}; _ga=GA1.2.${other}`
    : mark`lang=ru; _gitlab_session=${hidden('cookie', draw(random, HEX, 32))}; csrftoken=${session}`;
}

export const COOKIE_SHAPES: readonly Shape[] = [
  { name: 'cookie header', class: 'cookie', known: 'keyed', keys: ['Cookie', 'cookie'], isSpaced: true, make: cookies },
  {
    name: 'set-cookie header',
    class: 'cookie',
    known: 'keyed',
    keys: ['Set-Cookie', 'set-cookie'],
    isSpaced: true,
    make: (random) => mark`session=${hidden('cookie', drawMixed(random, BASE62, 24))}; Path=/; HttpOnly; SameSite=Lax`,
  },
  {
    name: 'cookie dump',
    class: 'cookie',
    known: 'line',
    make: (random) => mark`< Set-Cookie: id=${hidden('cookie', drawMixed(random, BASE62, 20))}; Max-Age=3600; Secure`,
  },
  { name: 'cookie header dump', class: 'cookie', known: 'line', make: (random) => mark`Cookie: ${cookies(random)}` },
  {
    name: 'cookie of a shell command',
    class: 'cookie',
    known: 'line',
    make: (random) => mark`COMMAND=/usr/bin/curl -b '${cookies(random)}' https://shop.example.org/cart`,
  },
  {
    name: 'cookies in a list',
    class: 'cookie',
    known: 'line',
    make: (random) =>
      mark`{"level":30,"res":{"statusCode":200,"headers":{"set-cookie":["a=${hidden('cookie', drawMixed(random, BASE62, 18))}; Path=/","b=${hidden('cookie', drawMixed(random, BASE62, 22))}"]}},"msg":"request completed"}`,
  },
];

function inUrl(value: string): Marked {
  return hidden('url-credentials', value);
}

function url(name: string, lead: string, tail: string, password: (random: SeededRandom) => string): Shape {
  return {
    name,
    class: 'url-credentials',
    known: 'bare',
    make: (random) => mark`${lead}${inUrl(userName(random))}:${inUrl(password(random))}@${tail}`,
  };
}

const plain = (random: SeededRandom): string => drawMixed(random, BASE62, random.pick([8, 12, 20]));
const escaped = (random: SeededRandom): string =>
  `${drawMixed(random, BASE62, 7)}%40${draw(random, BASE62, 4)}%3A${drawMixed(random, BASE62, 7)}`;
const marked = (random: SeededRandom): string => `${drawMixed(random, BASE62, 6)}!${drawMixed(random, BASE62, 6)}`;
const holdingAt = (random: SeededRandom): string => `${drawMixed(random, BASE62, 6)}@${drawMixed(random, BASE62, 6)}`;
const holdingColon = (random: SeededRandom): string =>
  `${drawMixed(random, BASE62, 6)}:${drawMixed(random, BASE62, 6)}`;

function urlLine(name: string, make: (random: SeededRandom) => Marked): Shape {
  return { name, class: 'url-credentials', known: 'line', make };
}

export const URL_SHAPES: readonly Shape[] = [
  url('https', 'https://', 'git.example.org/team/app.git', plain),
  url('postgres', 'postgres://', 'db1.internal:5432/main?sslmode=require', escaped),
  url('postgresql of two hosts', 'postgresql://', 'db1,db2/main', plain),
  url('mysql', 'mysql://', 'db.internal/app', marked),
  url('mongodb', 'mongodb+srv://', 'cluster0.example.net/app', plain),
  url('amqp', 'amqp://', 'mq.internal:5672/vhost', holdingAt),
  url('ldap', 'ldaps://', 'ldap.example.org:636', holdingColon),
  url('smtp', 'smtp://', 'relay.example.org:587', plain),
  url('ftp', 'ftp://', 'files.example.org/pub', plain),
  {
    name: 'redis with a password alone',
    class: 'url-credentials',
    known: 'bare',
    make: (random) => mark`redis://:${inUrl(plain(random))}@cache:6379/0`,
  },
  {
    name: 'token as the user',
    class: 'url-credentials',
    known: 'bare',
    make: (random) => mark`https://${inUrl(drawMixed(random, BASE62, 20))}@git.example.org/team/app.git`,
  },
  {
    name: 'mysql of the driver',
    class: 'url-credentials',
    known: 'bare',
    make: (random) => mark`${inUrl(userName(random))}:${inUrl(plain(random))}@tcp(db.internal:3306)/app`,
  },
  urlLine(
    'libpq',
    (random) =>
      mark`connecting host=db1 port=5432 dbname=main user=${userMark(random)} password=${inUrl(plain(random))} sslmode=require`,
  ),
  urlLine(
    'libpq quoted',
    (random) =>
      mark`conninfo "host=db1 user=${userMark(random)} password='${inUrl(`${plain(random)} ${plain(random)}`)}'"`,
  ),
  urlLine(
    'odbc',
    (random) =>
      mark`Driver={SQL Server};Server=db1;Database=app;User Id=${userMark(random)};Pwd=${inUrl(plain(random))};Encrypt=yes`,
  ),
  urlLine(
    'jdbc',
    (random) =>
      mark`opening jdbc:postgresql://db1:5432/app?user=${userMark(random)}&password=${inUrl(plain(random))}&ssl=true`,
  ),
  urlLine(
    'account key',
    (random) =>
      mark`DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=${inUrl(`${drawMixed(random, BASE64, 86)}==`)};EndpointSuffix=core.windows.net`,
  ),
];

/** The user of a connection string goes with the password. */
function userMark(random: SeededRandom): Marked {
  return buriedUser(userName(random));
}
