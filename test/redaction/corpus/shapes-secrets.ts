/** Secrets known by the name they stand under, by the command they are given to, or by being long and random. */
import type { SeededRandom } from '#test/support/random.ts';
import { BASE32, BASE62, BASE64URL, bytes, DIGITS, draw, drawMixed, HEX } from './alphabets.ts';
import { buriedUser, hidden, mark, user, type Marked, type Shape, type SpanClass } from './labels.ts';
import { userName } from './words.ts';

function secret(value: string): Marked {
  return hidden('secret', value);
}

const WEAK = [
  'correcthorse',
  'tr0ub4dor',
  'Winter2026!',
  'zaq12wsx',
  'dragonfly',
  'S3cr3tPw',
  'iloveparis',
  'Passw0rd#7',
];

function weak(random: SeededRandom): string {
  return random.pick(WEAK) + draw(random, DIGITS, random.whole(0, 3));
}

const NAMES = (
  'password passwd pwd pass passphrase secret token api_key apikey access_key private_key client_secret ' +
  'auth_token bindpw credentials db_password smtpPass X-Api-Key session_secret refresh_token access_token ' +
  'DB_PASSWORD SECRET_KEY userPassword new_password'
).split(' ');

function keyed(name: string, keys: readonly string[], make: (random: SeededRandom) => string): Shape {
  return { name, class: 'secret', known: 'keyed', keys, make: (random) => secret(make(random)) };
}

const KEYED: readonly Shape[] = [
  keyed('weak password', NAMES, weak),
  keyed('random password', NAMES, (random) => drawMixed(random, BASE62, random.pick([8, 12, 16]))),
  keyed('long secret', NAMES, (random) => drawMixed(random, BASE64URL, random.pick([24, 40, 64]))),
  keyed('hex secret', NAMES, (random) => draw(random, HEX, random.pick([16, 32, 64]))),
  keyed('numeric password', ['password', 'passwd', 'pin_token', 'secret'], (random) => draw(random, DIGITS, 8)),
  keyed('letters alone', ['api_key', 'secret', 'token', 'password'], (random) => draw(random, 'abcdefghijklmnop', 12)),
  keyed('dsn', ['dsn', 'DSN', 'database_dsn'], (random) => `app:${drawMixed(random, BASE62, 12)}@db:5432/main`),
  {
    ...keyed(
      'spaced passphrase',
      ['passphrase', 'password', 'secret'],
      (random) => `${weak(random)} ${weak(random)} ${weak(random)}`,
    ),
    isSpaced: true,
  },
  {
    ...keyed(
      'quoted marks',
      ['password', 'client_secret', 'token'],
      (random) => `${weak(random)}"${draw(random, BASE62, 6)}\\${draw(random, BASE62, 6)}`,
    ),
    isSpaced: true,
  },
  { ...keyed('recovery code', ['code'], (random) => draw(random, DIGITS, 6)) },
  keyed('turn secret', ['static-auth-secret', 'turn_secret'], (random) => drawMixed(random, BASE62, 24)),
  keyed('wireguard key', ['PrivateKey', 'PresharedKey'], (random) => bytes(random, 32).toString('base64')),
  keyed('vault token header', ['X-Auth-Token', 'Private-Token', 'X-Vault-Token'], (random) =>
    drawMixed(random, BASE62, 26),
  ),
];

const HASHES: readonly Shape[] = (
  [
    ['md5 crypt', (random) => `$1$${draw(random, BASE62, 8)}$${drawMixed(random, BASE62, 22)}`],
    ['bcrypt', (random) => `$2b$12$${drawMixed(random, BASE62, 53)}`],
    ['sha256 crypt', (random) => `$5$rounds=5000$${draw(random, BASE62, 12)}$${drawMixed(random, BASE62, 43)}`],
    ['sha512 crypt', (random) => `$6$${draw(random, BASE62, 16)}$${drawMixed(random, BASE62, 86)}`],
    ['yescrypt', (random) => `$y$j9T$${drawMixed(random, BASE62, 22)}$${drawMixed(random, BASE62, 43)}`],
    [
      'argon2',
      (random) => `$argon2id$v=19$m=65536,t=3,p=4$${drawMixed(random, BASE62, 22)}$${drawMixed(random, BASE62, 43)}`,
    ],
    ['apache md5', (random) => `$apr1$${draw(random, BASE62, 8)}$${drawMixed(random, BASE62, 22)}`],
    ['salted sha', (random) => `{SSHA}${drawMixed(random, BASE62, 38)}==`],
    ['django', (random) => `pbkdf2_sha256$600000$${drawMixed(random, BASE62, 22)}$${drawMixed(random, BASE62, 43)}=`],
    [
      'scram',
      (random) =>
        `SCRAM-SHA-256$4096:${drawMixed(random, BASE62, 22)}==$${drawMixed(random, BASE62, 43)}=:${drawMixed(random, BASE62, 43)}=`,
    ],
  ] satisfies [string, (random: SeededRandom) => string][]
).map(([name, make]) => ({
  name,
  class: 'secret',
  known: 'keyed',
  keys: ['password_hash', 'shadow', 'hash_of_password'],
  make: (random) => wholeHash(make(random)),
}));

/** The method, the parameters and the version of a password hash say nothing; its salt and digest do. */
function wholeHash(value: string): Marked {
  const digests = value.split(/[$:{}]/u).filter((part) => part.length >= 20);
  return { text: value, labels: digests.map((part) => ({ class: 'secret', kind: 'secret', value: part })) };
}

function command(name: string, make: (random: SeededRandom) => Marked, spanClass: SpanClass = 'secret'): Shape {
  return { name, class: spanClass, known: 'line', make };
}

const COMMANDS: readonly Shape[] = [
  command(
    'mysql -p',
    (random) => mark`COMMAND=/usr/bin/mysql -u root -p${secret(drawMixed(random, BASE62, 12))} -e 'select 1'`,
  ),
  command('sshpass', (random) => mark`COMMAND=/usr/bin/sshpass -p ${secret(weak(random))} ssh backup@store.internal`),
  command('PGPASSWORD', (random) => mark`COMMAND=/usr/bin/env PGPASSWORD=${secret(weak(random))} psql -h db1 main`),
  command(
    '--password and a space',
    (random) => mark`COMMAND=/opt/app/run --password ${secret(weak(random))} --verbose`,
  ),
  command(
    '--token=',
    (random) => mark`(root) CMD (/opt/app/job --token=${secret(drawMixed(random, BASE62, 12))} --quiet)`,
  ),
  command(
    'openssl -passin',
    (random) => mark`COMMAND=/usr/bin/openssl rsa -in k.pem -passin pass:${secret(weak(random))} -out n.pem`,
  ),
  command(
    'curl -u',
    (random) =>
      mark`COMMAND=/usr/bin/curl -u ${buriedUser(userName(random))}:${secret(drawMixed(random, BASE62, 12))} https://api.example.org/`,
  ),
  command('alter role', (random) => mark`LOG:  statement: ALTER ROLE app PASSWORD '${secret(weak(random))}'`),
  command(
    'otpauth',
    (random) =>
      mark`enrolled otpauth://totp/Parley:${buriedUser(userName(random))}?secret=${secret(draw(random, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567', 32))}&issuer=Parley`,
  ),
  command('sasl plain', (random) => {
    const login = Buffer.from(`\0${userName(random)}\0${drawMixed(random, BASE62, 12)}`).toString('base64');
    return mark`warning: unknown[203.0.113.x]: SASL PLAIN authentication failed: ${secret(login)}`;
  }),
  command(
    'ldap root password',
    (random) => mark`olcRootPW: ${secret(`{SSHA}${drawMixed(random, BASE62, 38)}`.slice(6))}`,
  ),
  command(
    'ldap user password',
    (random) => mark`userPassword:: ${secret(Buffer.from(drawMixed(random, BASE62, 18)).toString('base64'))}`,
  ),
  command(
    'asterisk digests',
    (random) =>
      mark`SECURITY[9] res_security_log.c: SecurityEvent="ChallengeResponseFailed",Service="SIP",Response="${secret(draw(random, HEX, 32))}",ExpectedResponse="${secret(draw(random, HEX, 32))}"`,
  ),
  command(
    'asterisk received hash',
    (random) =>
      mark`SECURITY[9] res_security_log.c: SecurityEvent="InvalidPassword",Service="SIP",ReceivedHash="${secret(draw(random, HEX, 32))}"`,
  ),
  command(
    'asterisk md5',
    (random) =>
      mark`NOTICE[1] chan_sip.c: failed MD5 authentication for '${user(userName(random))}' (${secret(draw(random, HEX, 32))} != ${secret(draw(random, HEX, 32))})`,
  ),
  command(
    'npm registry',
    (random) => mark`read //registry.example.net/:_authToken=${secret(drawMixed(random, BASE62, 36))}`,
  ),
  command(
    'recovery code in json',
    (random) => mark`{"event":"recover","code":"${secret(draw(random, DIGITS, 6))}","ok":true}`,
  ),
  command(
    'access token in a fragment',
    (random) =>
      mark`redirect https://app.example.org/cb#access_token=${secret(drawMixed(random, BASE62, 24))}&token_type=bearer`,
  ),
];

function longRun(name: string, make: (source: SeededRandom) => string, known: Shape['known'] = 'bare'): Shape {
  return { name, class: 'random', known, make: (source) => hidden('random', make(source)) };
}

const RANDOM: readonly Shape[] = [
  ...[32, 40, 48, 64, 128].map((length) => longRun(`hex of ${length}`, (source) => draw(source, HEX, length))),
  longRun('upper hex of 64', (source) => draw(source, HEX.toUpperCase(), 64)),
  ...[32, 43, 64].map((length) => longRun(`base62 of ${length}`, (source) => drawMixed(source, BASE62, length))),
  ...[43, 64, 86].map((length) => longRun(`base64url of ${length}`, (source) => drawMixed(source, BASE64URL, length))),
  ...[32, 64].map((length) =>
    longRun(`base64 of ${length} bytes`, (source) => bytes(source, length).toString('base64'), 'delimited'),
  ),
  longRun('base32 of 32', (source) => draw(source, BASE32, 32)),
];

export const SECRET_SHAPES: readonly Shape[] = [...KEYED, ...HASHES, ...COMMANDS, ...RANDOM];
