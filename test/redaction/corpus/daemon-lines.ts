/** Lines of daemons that name a person without `key=`: each as its program writes it. */
import type { SeededRandom } from '#test/support/random.ts';
import { DIGITS, draw, HEX } from './alphabets.ts';
import { auditHex } from './encodings.ts';
import { digest, email, hidden, ipv4, mark, phone, user, type Marked, type Shape } from './labels.ts';
import { displayName, DOMAINS, HOSTS, localPart, privateText, userName } from './words.ts';

/** The people, addresses and counters of one line. */
interface Cast {
  who: Marked;
  other: Marked;
  from: Marked;
  address: Marked;
  port: number;
  pid: number;
  host: string;
  hex: string;
}

type Template = (cast: Cast, random: SeededRandom) => Marked;

const SSHD: readonly Template[] = [
  ({ who, from, port }) => mark`Failed password for invalid user ${who} from ${from} port ${port} ssh2`,
  ({ who, from, port }) => mark`Failed password for ${who} from ${from} port ${port} ssh2`,
  ({ who, from, port }) => mark`Failed keyboard-interactive/pam for ${who} from ${from} port ${port} ssh2`,
  ({ who, from, port }) =>
    mark`Accepted publickey for ${who} from ${from} port ${port} ssh2: ED25519 SHA256:uQ0aS7oWm3nVtYc5PzK1hXr8bJd2fLgTq6eNiZsBw4M`,
  ({ who, from, port }) => mark`Accepted password for ${who} from ${from} port ${port} ssh2`,
  ({ who, from, port }) => mark`Invalid user ${who} from ${from} port ${port}`,
  ({ who }) => mark`input_userauth_request: invalid user ${who} [preauth]`,
  ({ who, host }) => mark`User ${who} from ${host} not allowed because not listed in AllowUsers`,
  ({ who }) => mark`Disconnecting: Too many authentication failures for ${who} [preauth]`,
  ({ who, from }) => mark`error: PAM: Authentication failure for ${who} from ${from}`,
  ({ who, from }) => mark`error: PAM: Authentication failure for illegal user ${who} from ${from}`,
  ({ who, from, port }) => mark`Connection closed by authenticating user ${who} ${from} port ${port} [preauth]`,
  ({ who, from, port }) => mark`Connection reset by invalid user ${who} ${from} port ${port} [preauth]`,
  ({ who, from, port }) => mark`Disconnected from user ${who} ${from} port ${port}`,
  ({ who, from, port }) => mark`message repeated 2 times: [ Failed password for ${who} from ${from} port ${port} ssh2]`,
  ({ who, other, from, port }) =>
    mark`Failed hostbased for ${who} from ${from} port ${port} ssh2: ED25519 SHA256:uQ0aS7oWm3nVtYc5PzK1hXr8bJd2fLgTq6eNiZsBw4M, client user "${other}", client host "h.example.net"`,
];

const SESSIONS: readonly Template[] = [
  ({ who, from }) =>
    mark`pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost=${from}  user=${who}`,
  ({ who, other, from }) =>
    mark`pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser=${other} rhost=${from}  user=${who}`,
  ({ who }) => mark`pam_unix(sudo:session): session opened for user root(uid=0) by ${who}(uid=1000)`,
  ({ who, other }) => mark`pam_unix(su:session): session opened for user ${who}(uid=1002) by ${other}(uid=1000)`,
  ({ who }) => mark`pam_unix(cron:session): session closed for user ${who}`,
  ({ who }) => mark`pam_faillock(sshd:auth): Consecutive login failures for user ${who} account temporarily locked`,
  ({ who }) => mark`sudo:    ${who} : TTY=pts/0 ; PWD=/srv ; USER=root ; COMMAND=/usr/bin/id`,
  ({ who, other }) => mark`sudo:    ${who} : TTY=pts/1 ; PWD=/srv ; USER=${other} ; COMMAND=/usr/bin/id`,
  ({ who }) => mark`sudo:    ${who} : user NOT in sudoers ; TTY=pts/0 ; PWD=/srv ; USER=root ; COMMAND=/usr/bin/id`,
  ({ who, pid }) => mark`su[${pid}]: (to root) ${who} on pts/1`,
  ({ who, pid }) => mark`systemd-logind[${pid}]: New session 42 of user ${who}.`,
  ({ who }) => mark`systemd[1]: Started Session 42 of user ${who}.`,
  ({ who, pid }) => mark`CRON[${pid}]: (${who}) CMD (/usr/local/bin/rotate --all)`,
  ({ who, pid }) => mark`crontab[${pid}]: (${who}) LIST (${who})`,
  ({ who, pid }) => mark`cron[${pid}]: (${who}) RELOAD (crontabs/${who})`,
];

const POSTGRES: readonly Template[] = [
  ({ who }) => mark`FATAL:  password authentication failed for user "${who}"`,
  ({ who }) => mark`FATAL:  role "${who}" does not exist`,
  ({ who }) => mark`LOG:  connection authorized: user=${who} database=main application_name=psql`,
  ({ who, from }) =>
    mark`FATAL:  no pg_hba.conf entry for host "${from}", user "${who}", database "main", no encryption`,
  ({ who, pid }) => mark`2026-11-20 10:00:00.123 UTC [${pid}] ${who}@main LOG:  statement: select 1`,
  ({ address }) => mark`DETAIL:  Key (email)=(${address}) already exists.`,
  ({ who }, random) => mark`DETAIL:  parameters: $1 = '${phone(`+7916${draw(random, DIGITS, 7)}`)}', user=${who}`,
];

const TURN: readonly Template[] = [
  ({ who }) =>
    mark`session 000000000000000002: realm <example.org> user <1790000000:${who}>: incoming packet ALLOCATE processed, success`,
  ({ who }) => mark`session 000000000000000003: new, realm=<example.org>, username=<1790000000:${who}>, lifetime=777`,
  ({ who }) =>
    mark`session 000000000000000004: realm <example.org> user <${who}>: incoming packet message processed, error 401: Unauthorized`,
  ({ who }) => mark`check_stun_auth: Cannot find credentials of user <${who}>`,
  ({ from, port }) => mark`handle_udp_packet: New UDP endpoint: local addr 127.0.0.1:3478, remote addr ${from}:${port}`,
  ({ from }) => mark`session 000000000000000005: peer ${from} lifetime updated: 300`,
];

const MAIL: readonly Template[] = [
  ({ address, hex }) => mark`${hex}: from=<${address}>, size=4211, nrcpt=1 (queue active)`,
  ({ address, from, hex }) =>
    mark`${hex}: to=<${address}>, orig_to=<postmaster>, relay=mx.example.net[${from}]:25, delay=1.2, status=sent (250 2.0.0 Ok)`,
  ({ who, from, hex }) => mark`${hex}: client=host.example.net[${from}], sasl_method=PLAIN, sasl_username=${who}`,
  ({ address, from }) =>
    mark`NOQUEUE: reject: RCPT from h.example.net[${from}]: 550 5.1.1 <${address}>: Recipient address rejected: User unknown; from=<> to=<${address}> proto=ESMTP helo=<h.example.net>`,
  ({ address, from, hex }, random) =>
    mark`${hex}: warning: header Subject: ${hidden('text', privateText(random))} from h.example.net[${from}]; from=<${address}> to=<noreply@example.org> proto=ESMTP`,
  ({ who, from }) =>
    mark`imap-login: Login: user=<${who}>, method=PLAIN, rip=${from}, lip=127.0.0.1, mpid=1, TLS, session=<x4bVJmYw0p5UAAAB>`,
  ({ who, from }) =>
    mark`imap-login: Aborted login (auth failed, 2 attempts in 17 secs): user=<${who}>, method=PLAIN, rip=${from}, lip=127.0.0.1`,
  ({ who, from }) => mark`auth-worker(1): pam(${who},${from}): pam_authenticate() failed: Authentication failure`,
  ({ who, from }) => mark`auth: sql(${who},${from},<x4bVJmYw0p5UAAAB>): unknown user`,
  ({ who, pid }) => mark`lmtp(${who})<${pid}><k2bQAa1b>: saved mail to INBOX`,
  ({ who, pid }) => mark`imap(${who})<${pid}><x4bVJmYw>: Logged out in=211 out=9001`,
  ({ who }) => mark`saslauthd[1]: do_auth : auth failure: [user=${who}] [service=smtp] [realm=example.org] [mech=pam]`,
];

const WEB: readonly Template[] = [
  ({ who, from }) => mark`${from} - ${who} [20/Nov/2026:10:00:00 +0000] "GET /x HTTP/1.1" 200 1 "-" "curl/8.5"`,
  ({ who, from }) =>
    mark`2026/11/20 10:00:00 [error] 7#7: *3 user "${who}": password mismatch, client: ${from}, server: chat.example.org, request: "GET / HTTP/1.1", host: "chat.example.org"`,
  ({ who, from }) =>
    mark`2026/11/20 10:00:00 [error] 7#7: *4 user "${who}" was not found in "/etc/nginx/.htpasswd", client: ${from}, server: chat.example.org`,
  ({ who, from }) =>
    mark`[auth_basic:error] [pid 7] [client ${from}:51234] AH01617: user ${who}: authentication failure for "/private": Password Mismatch`,
];

const TELEPHONY: readonly Template[] = [
  ({ from }, random) =>
    mark`NOTICE[1] chan_sip.c: Registration from '"${user(displayName(random))}" <sip:${phone(`7916${draw(random, DIGITS, 7)}`)}@example.org>' failed for '${from}:5060' - Wrong password`,
  ({ who, from }) =>
    mark`NOTICE[1] chan_sip.c: Call from '${who}' (${from}:5060) to extension '0' rejected because extension not found`,
  ({ who, from }) => mark`NOTICE[1] chan_sip.c: Host ${from} failed to authenticate as '${who}'`,
  ({ who, from }) => mark`NOTICE: <script>: auth failed for sip:${who}@example.org from ${from}:5060`,
  (_cast, random) =>
    mark`From: "${user(displayName(random))}" <sip:${phone(`+7916${draw(random, DIGITS, 7)}`)}@example.org;user=phone>;tag=as4f21`,
  ({ from, port }) => mark`Via: SIP/2.0/TLS ${from}:${port};branch=z9hG4bK77;received=${from}`,
  ({ from, hex }) => mark`INVITE dialog Call-ID: ${hex.toLowerCase()}@${from} CSeq: 1 INVITE`,
];

const DIRECTORY: readonly Template[] = [
  ({ who }) => mark`conn=1000 op=0 BIND dn="uid=${who},ou=people,dc=example,dc=org" method=128`,
  ({ who, address }, random) =>
    mark`conn=1000 op=1 SRCH base="ou=people,dc=example,dc=org" scope=2 deref=0 filter="(&(objectClass=person)(|(uid=${who})(mail=${address})(cn=${user(displayName(random))})))"`,
  ({ who }) => mark`conn=1001 op=2 SRCH base="dc=example,dc=org" scope=2 deref=0 filter="(sAMAccountName=${who})"`,
];

function hexUser(name: string): Marked {
  return {
    text: auditHex(name),
    labels: [{ class: 'user', kind: 'name', value: name, replacement: `u-${digest(name.toLowerCase())}` }],
  };
}

function hexAddress(random: SeededRandom): Marked {
  const octets = [203, 0, 113, random.whole(10, 254)];
  const hex = octets
    .map((octet) => octet.toString(16).padStart(2, '0'))
    .join('')
    .toUpperCase();
  return { text: `02000050${hex}0000000000000000`, labels: [{ class: 'ipv4', kind: 'ipv4', value: octets.join('.') }] };
}

const AUDIT: readonly Template[] = [
  ({ who, from }) =>
    mark`type=USER_LOGIN msg=audit(1790000000.123:456): pid=1 uid=0 auid=1000 ses=1 msg='op=login acct="${who}" exe="/usr/sbin/sshd" hostname=gw-east addr=${from} terminal=ssh res=failed'`,
  ({ from }, random) =>
    mark`type=USER_AUTH msg=audit(1790000000.123:457): pid=1 uid=0 msg='op=PAM:authentication acct=${hexUser(displayName(random))} exe="/usr/sbin/sshd" addr=${from} res=failed'`,
  (_cast, random) => mark`type=SOCKADDR msg=audit(1790000000.123:458): saddr=${hexAddress(random)}`,
  ({ who, other }) =>
    mark`type=USER_START msg=audit(1790000000.123:459): pid=1 msg='op=PAM:session_open acct="${who}" res=success'\u001dUID="root" AUID="${other}"`,
];

const TOGETHER: readonly (readonly [string, readonly Template[]])[] = [
  ['sshd', SSHD],
  ['pam, sudo and cron', SESSIONS],
  ['postgres', POSTGRES],
  ['coturn', TURN],
  ['mail', MAIL],
  ['web', WEB],
  ['telephony', TELEPHONY],
  ['slapd', DIRECTORY],
  ['auditd', AUDIT],
];

function cast(random: SeededRandom): Cast {
  return {
    who: user(userName(random)),
    other: user(userName(random)),
    from: ipv4(`198.51.${random.whole(1, 250)}.${random.whole(10, 254)}`),
    address: email(localPart(random), random.pick(DOMAINS)),
    port: random.whole(1024, 65_535),
    pid: random.whole(2, 32_000),
    host: random.pick(HOSTS),
    hex: draw(random, HEX.toUpperCase(), 11),
  };
}

/** Every line of every daemon as a shape of its own; the class is that of its first label. */
export const DAEMON_SHAPES: readonly Shape[] = TOGETHER.flatMap(([daemon, templates]) =>
  templates.map((template, at): Shape => ({
    name: `${daemon} ${at + 1}`,
    class: 'user',
    known: 'line',
    make: (random) => template(cast(random), random),
  })),
);
