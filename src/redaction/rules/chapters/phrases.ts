/** Phrases of programs with a person, a number or a secret in them. The places are those of the rules' grammar. */
import type { LineRow, PhraseRow, Row, Special, SpecialRow } from '../rows.ts';

function phrase(text: string, go: string, stay?: string): PhraseRow {
  return { kind: 'phrase', phrase: text, go: [go], ...(stay === undefined ? {} : { stay: [stay] }) };
}

/** A phrase whose words read like a name and its value. */
function stays(text: string, stay: string): PhraseRow {
  return { kind: 'phrase', phrase: text, go: [], stay: [stay] };
}

function special(does: Special, literal: string, go: string, stay?: string): SpecialRow {
  return { kind: 'special', literal, does, go: [go], ...(stay === undefined ? {} : { stay: [stay] }) };
}

function line(sign: string, at: number, text: string, go: string, stay: string): LineRow {
  return { kind: 'line', sign, at, line: text, go: [go], stay: [stay] };
}

const AGO = '192.0.2.x port 22';
/** What sshd says of a name between `for` and `from`. */
const FOR = String.raw` [\w/.:'-]{1,40} for (?:\(illegal user\) |invalid user |illegal user |user )?<peer>`;
const ADDRESS = '[0-9a-fA-F.:x]{3,45} port ';

const SSHD: readonly Row[] = [
  phrase(
    `Failed${FOR}`,
    `Failed password for «kalomi from me» from ${AGO} ssh2`,
    'Failed to start the service for "/private"',
  ),
  phrase(`Accepted${FOR}`, `Accepted publickey for «kalomi» from ${AGO} ssh2`),
  phrase(`Postponed${FOR}`, `Postponed publickey for «kalomi» from ${AGO} ssh2`),
  phrase(`Partial${FOR}`, `Partial publickey for «kalomi» from ${AGO} ssh2`),
  phrase(`Starting session:[^"\\n]{0,44}?${FOR}`, `Starting session: command for «kalomi» from ${AGO} id 0`),
  phrase('Invalid user <peer>', `Invalid user «kalomi ren» from ${AGO}`, `Invalid user  from ${AGO}`),
  phrase('invalid user <peer>', 'input_userauth_request: invalid user «kalomi» [preauth]'),
  phrase('Illegal user <peer>', 'Illegal user «kalomi ren» from 192.0.2.x'),
  phrase('illegal user <peer>', 'a login of illegal user «kalomi ren» from 192.0.2.x'),
  phrase('exceeded for (?:invalid user )?<peer>', `attempts exceeded for «kalomi» from ${AGO} ssh2`),
  phrase(
    'failures for (?:invalid user |illegal user |user )?<peer>',
    'Too many authentication failures for «kalomi» [preauth]',
  ),
  phrase(
    'failure for (?:invalid user |illegal user |user )?<peer>',
    'PAM: Authentication failure for «kalomi» from 192.0.2.x',
    'authentication failure for "/private"',
  ),
  phrase(`authenticating user <name> ${ADDRESS}`, `Connection closed by authenticating user «kalomi» ${AGO}`),
  phrase(`from (?:invalid )?user <name> ${ADDRESS}`, `Disconnected from user «kalomi ren» ${AGO}`),
  phrase(`by invalid user <name> ${ADDRESS}`, `Connection reset by invalid user «kalomi ren» ${AGO}`),
  phrase(
    String.raw`sshd: <user> \[(?:priv|net|pam)\]`,
    'sshd: «kalomi» [priv]',
    'sshd: /usr/sbin/sshd -D [listener] 0 of 10-100',
  ),
  phrase(
    String.raw`sshd-session: <user> \[(?:priv|net|pam)\]`,
    'sshd-session: «kalomi» [priv]',
    'sshd-session: [accepted]',
  ),
];

/** What is said of a user behind the name. */
const VERBS =
  '(?=:|,? (?:logged|signed|joined|left|not (?:found|known|in|allowed)|was|has|is|created|deleted|blocked|unblocked|authenticated|authorized|connected|disconnected|failed|added|removed|changed|does|from|NOT)(?![a-z]))';
/** Words that follow `user` in sentences about users at large. */
const NOBODY =
  '(?!(?:records?|name|agent|id|input|and|or|accounts?|session|data|was|is|has|not|unknown|does|interface|mode|space|slice|manager|service|list|table|logged|who|that|with|database|password|defined|request|cache|directory|limit|runtime|in|from|to|the|a|an|at|by|on|found|process|group|authentication|connection|message|NOT)(?![\\w.-]))';

const SESSIONS: readonly Row[] = [
  stays(String.raw`Subject:\s{1,8}Security ID:`, 'Subject: Security ID: S-1-0-0 Account Domain: - Logon Type: 3'),
  stays('Invalid password : ', 'reason = Invalid password : local database'),
  phrase(
    String.raw`arn:aws:(?:iam|sts)::\d{12}:(?:user|assumed-role/[\w+=,.@-]{1,64})/<slashed>(?=[\s"',)]|$)`,
    'Principal arn:aws:iam::123456789012:user/«kalomi»',
    'arn:aws:s3:::bucket/user/x',
  ),
  ...['GET', 'POST', 'HEAD', 'PUT', 'OPTIONS'].map((verb) =>
    phrase(
      String.raw`${verb} /\S{0,300} \S{1,300} \d{2,5} (?:[\w.-]{1,64}\\)?<user> (?=[\da-fx]{0,4}[.:])[\da-f.:x]{3,45} `,
      `${verb} /default.aspx - 443 corp\\«kalomi» 192.0.2.x Mozilla/5.0 - 200 0 0 15`,
      `${verb} / HTTP/1.1" 401 77 935 - Mozilla/5.0`,
    ),
  ),
  ...['FAIL LOGIN', 'OK LOGIN'].map((literal) =>
    special(
      'bracketed',
      literal,
      `vsftpd[77]: [«kalomi»] ${literal}: Client "192.0.2.x"`,
      `${literal}: Client "192.0.2.x"`,
    ),
  ),
  phrase(
    String.raw`Authentication for user \[<slashed>\] -> \[<slashed>\]`,
    'check_ntlm_password:  Authentication for user [«kalomi»] -> [«osvuh»] FAILED with error NT_STATUS_WRONG_PASSWORD',
    'Authentication for user [of this host] -> none',
  ),
  phrase(String.raw`SENT CONTROL \[<slashed>\]`, "SENT CONTROL [«kalomi»]: 'PUSH_REPLY'", 'SENT CONTROL [a b]'),
  phrase(
    'VERIFY OK: depth=0, (?:[^\\n]{0,200}, )?CN=<name>(?=[,/]|$)',
    'VERIFY OK: depth=0, CN=«Kalomi Ren»',
    'VERIFY OK: depth=1, C=DE, O=Corp, CN=Corp CA',
  ),
  phrase(
    'EAP method \\w{1,32} (?:failed|succeeded)[^\\n]{0,40} for peer <user>',
    '07[IKE] EAP method EAP_MSCHAPV2 failed for peer «kalomi»',
    'EAP method EAP_TLS is on',
  ),
  phrase(
    String.raw`bindDn=\[(?:cn|CN|uid|UID)=<name>(?=[,\]])`,
    'LDAP Configuration: {bindDn=[cn=«kalomi ren»,dc=corp], pagination=[true]}',
    'bindDn=[dc=corp]',
  ),
  phrase(
    String.raw`smbd_audit(?:\[<n>\])?: <user>\|`,
    'smbd_audit: «kalomi»|192.0.2.x|share|pread|ok|report.txt',
    'smbd_audit: started',
  ),
  phrase(
    String.raw`openvpn\[<n>\]: <slashed>/(?=\d{1,3}\.)`,
    'openvpn[77]: «kalomi»/192.0.2.x:1194 PUSH: Received control message',
    'openvpn[77]: 192.0.2.x:1194 TLS: Initial packet',
  ),
  phrase(String.raw`for user \[<slashed>\]`, '[WARNING] Authentication failed for user [«kalomi»]', 'for user [x y]'),
  phrase(
    String.raw`INFO\] <user> is now logged in`,
    '(?@192.0.2.x) [INFO] «kalomi» is now logged in',
    '[INFO] it is now on',
  ),
  phrase('FAILED LOGIN for <user>', '[error] FAILED LOGIN for «kalomi» [192.0.2.x] to {h:143}'),
  phrase('user denied: <user>', 'phpMyAdmin[5]: user denied: «kalomi» (mysql-denied) from 192.0.2.x'),
  ...['attempt failed for ', 'Successful login for ', 'authentication failed for ', 'logged in as '].map((lead) =>
    phrase(`${lead}(?:user )?${NOBODY}<one>`, `web: ${lead}«kalomi» (5)`, `web: ${lead}the account`),
  ),
  phrase(
    'USER <user>(?:: | \\()Login ',
    'proftpd[5] h (h[192.0.2.x]): USER «kalomi» (Login failed): no',
    'USER id Login 5',
  ),
  phrase(
    "Authenticating to \\S{1,80} as <'user'>",
    "debug1: Authenticating to h:22 as '«kalomi»'",
    'Authenticating to h:22 as it is',
  ),
  phrase(
    'plaintext <user> SASL',
    'imaps[5]: badlogin: h [192.0.2.x] plaintext «kalomi» SASL(-13): no',
    'plaintext only',
  ),
  phrase(
    'auth failed on module [^\\n]{1,200}? for <user>: ',
    'rsyncd[5]: auth failed on module data from h (192.0.2.x) for «kalomi»: password mismatch',
    'auth failed on module data',
  ),
  phrase(
    'Configured from [\\w ]{1,20} by <user> on ',
    '%SYS-5-CONFIG_I: Configured from web by «kalomi» on 192.0.2.x',
    'Configured from file',
  ),
  phrase(
    'Administrator <user> log(?:in|out|ged)',
    'msg="Administrator «kalomi» login failed from ssh"',
    'Administrator left',
  ),
  phrase(String.raw`login\|<user>\]`, 'login failure[cause|No][IP|192.0.2.x][login|«kalomi»]', 'login|next'),
  phrase(
    String.raw`account [\w.-]{1,32}\\<user>`,
    'The service account corp\\«kalomi» was granted the right.',
    'account CORP is on',
  ),
  phrase('unknown user <one>', 'no such: unknown user «kalomi»'),
  phrase('for user <one>', 'session opened for user «kalomi»(uid=0)', 'for user id=5'),
  phrase('of user <one>', 'New session 4 of user «kalomi».'),
  phrase('of User <one>', 'Started Session 1 of User «kalomi».'),
  phrase('for USER <one>', 'no record for USER «kalomi» here'),
  phrase('as user <one>', 'runs as user «kalomi» now'),
  phrase('by user <one>', 'stopped by user «kalomi» now'),
  phrase(`user ${NOBODY}<user>${VERBS}`, 'AH01617: user «kalomi»: authentication failure', 'check pass; user unknown'),
  phrase(
    `User ${NOBODY}<user>${VERBS}`,
    'User «kalomi» not allowed because account is locked',
    'User Slice of UID 1000',
  ),
  phrase("user <'user'>", 'no entry, user "«kalomi»", no encryption'),
  phrase("User <'user'>", 'User "«kalomi»" is gone'),
  phrase("role <'user'>", 'FATAL:  role "«kalomi»" does not exist', 'role admin does not exist'),
  phrase("Role <'user'>", 'DETAIL:  Role "«kalomi»" does not exist.', 'Role admin does not exist'),
  phrase('nslcd; user <user>', 'error opening connection to nslcd; user «kalomi»', 'nslcd; users are none'),
  phrase(
    'Provided username <one>',
    'Provided username «kalomi» and/or password are incorrect',
    'Provided username id=5',
  ),
  phrase(
    'authentication attempt for <user> from ',
    'Failed authentication attempt for «kalomi» from 192.0.2.x:5',
    'authentication attempt for "x" from y',
  ),
  phrase("u'<user>'\\)", "as dev-1 (p2, c1, k60, u'«kalomi»').", "u'x', n"),
  phrase('for client : <user> / ', '[DENIED LOGIN] for client : «kalomi» / 192.0.2.x', 'for client : 5'),
  phrase(
    "GRANT [^'\\n]{1,120} TO ['\"\x60]<user>['\"\x60]",
    "GRANT ALL ON app.* TO '«kalomi»'@'%'",
    'GRANT ALL ON app.* TO x',
  ),
  phrase(
    'ENVELOPE \\((?:NIL|"[^"\\n]{0,60}") <\'text\'>',
    '* 5 FETCH (ENVELOPE ("Fri, 20 Nov 2026 10:11:12 +0300" "«see you at nine»" NIL))',
    'ENVELOPE (NIL NIL)',
  ),
  ...['password is ', 'Password is ', 'password was ', 'passphrase is '].map((literal) =>
    special('told', literal, `the ${literal}«osvuhan» until nine`, `the ${literal}too short`),
  ),
  ...['with password ', 'PIN is ', 'pin is ', 'token is ', 'key is ', 'secret is ', 'code is '].map((literal) =>
    special('told-code', literal, `told: ${literal}«osvuh77» now`, `told: ${literal}authentication`),
  ),
  phrase('C: USER <user>$', 'C: USER «kalomi»', 'C: USER is asked for'),
  phrase('C: PASS <pass>$', 'C: PASS «osvuh»', 'C: PASS is asked for'),
  phrase('IDENTIFY <pass>$', 'PRIVMSG NickServ :IDENTIFY «osvuh»', 'IDENTIFY yourself first'),
  phrase("login <'user'>", "login '«kalomi»' was refused", 'login page shown'),
  phrase(String.raw`User@Host: <user>\[<user>\]`, '# User@Host: «kalomi»[«osvuh»] @  [192.0.2.x]'),
  phrase(String.raw`USERID:\[<n>\] <'user'>`, 'SESSIONID:[1] "5" USERID:[6] "«KALOMI»" ACTION:[3] "100"', 'USERID:[0]'),
  phrase(String.raw`user \[[^\]\n]{0,64}\]\\\[<user>\]`, 'Auth: user [CORP]\\[«kalomi»] at [now]', 'user [x] left'),
  phrase("EAP-Identity request for '<user>'", "07[IKE] EAP-Identity request for '«kalomi»'"),
  ...['UTC', 'GMT', 'CET', 'CEST', 'MSK', 'EST', 'EDT', 'PST', 'PDT'].map((zone) =>
    phrase(`${zone},"<user>","`, `10:11:12.123 ${zone},"«kalomi»","app",77`, `10:11:12 ${zone},,,77`),
  ),
  phrase(
    String.raw`Login OK: \[(?!host/)<slashed>(?:/(?:<via [^>\n]{1,40}>|<pass>))?\] \(from`,
    'Auth: (6) Login OK: [«kalomi»/«osvuh»] (from client nas port 9)',
    'Login OK: none',
  ),
  phrase(
    String.raw`Login incorrect[^[\n]{0,160}: \[<slashed>(?:/(?:<via [^>\n]{1,40}>|<pass>))?\] \(from`,
    'Auth: (6) Login incorrect (mschap: no): [«kalomi»/«osvuh»] (from client nas port 9)',
    'Login incorrect: no',
  ),
  phrase("username <'user'>", 'username "«kalomi»" is taken'),
  phrase("account <'user'>", "account '«kalomi»' is locked"),
  phrase("sender <'user'>", 'sender <«kalomi»> refused'),
  phrase("participant <'user'>", "participant '«kalomi»' left"),
  phrase(String.raw`by <user>\(uid=`, 'opened by «kalomi»(uid=1000)', 'by alice (uid=1)'),
  phrase('su for <one>(?: by <one>)?', 'successful su for «kalomi» by «osvuh»'),
  phrase('sudo(?:\\[<n>\\])?: {1,40}<user> : ', 'sudo[77]:   «kalomi» : TTY=pts/0', 'sudo: no tty present'),
  phrase('Login restricted for <one>', 'Login restricted for «kalomi»: expired'),
  phrase(
    'FAILED LOGIN[^"\\n]{0,120} FOR [`\'"]?<user>',
    "FAILED LOGIN (1) on '/dev/tty1' FOR `«kalomi»', Authentication failure",
  ),
  phrase('LOGIN ON <word> BY <user>', 'LOGIN ON pts/1 BY «kalomi» FROM 192.0.2.x'),
  phrase('DIALUP AT <word> BY <user>', 'DIALUP AT ttyS0 BY «kalomi»'),
  phrase(String.raw`su\[<n>\]: [+-] <word> <user>:<user>`, 'su[1]: + /dev/pts/0 «kalomi»:«osvuh»'),
  phrase('BAD SU <user> to <user> on ', 'BAD SU «kalomi» to «osvuh» on /dev/tty1'),
  phrase(
    'password for [\'[`"]<user>[\'\\]"](?: changed by [\'"]<user>[\'"])?',
    'could not identify password for [«kalomi»]',
    'password for the root',
  ),
  phrase('password changed for <user>', 'passwd[1]: password changed for «kalomi»'),
  phrase('password expiry for <user>', 'chage[1]: changed password expiry for «kalomi»'),
  phrase(String.raw`for user \(<user>\)`, 'password check failed for user («kalomi»)'),
  phrase(String.raw`user info \(<user>\)`, 'could not obtain user info («kalomi»)'),
  phrase(String.raw`user <user> \(<n>\) (?:tally|has)`, 'pam_tally2: user «kalomi» (1000) tally 3, deny 3'),
  phrase(String.raw`pkexec\[<n>\]: <user>: Executing`, 'pkexec[1]: «kalomi»: Executing command'),
  phrase('doas: command not permitted for <user>', 'doas: command not permitted for «kalomi»: ls'),
  phrase('doas: <user> ran command', 'doas: «kalomi» ran command ls as root'),
  phrase('new user: name=<user>', 'useradd[1]: new user: name=«kalomi», UID=1000'),
  phrase('new group: name=<user>', 'groupadd[1]: new group: name=«kalomi», GID=1000'),
  phrase('group added to <word> name=<user>', 'group added to /etc/group: name=«kalomi», GID=1000'),
  phrase("add '<user>' (?:to|from) (?:shadow )?group", "useradd[1]: add '«kalomi»' to group 'sudo'"),
  phrase("delete '<user>' (?:to|from) (?:shadow )?group", "userdel[1]: delete '«kalomi»' from group 'sudo'"),
  phrase(
    "removed (?:shadow )?group '<user>' owned by '<user>'",
    "userdel[1]: removed group '«kalomi»' owned by '«osvuh»'",
  ),
  phrase("user name '<user>' to '<user>'", "change user name '«kalomi»' to '«osvuh»'"),
  ...['Adding user', 'Adding new user', 'Adding group', 'Adding new group'].map((lead) =>
    phrase(
      `${lead} [\`'"]<user>['"](?: \\(<n>\\) with group [\`'"]<user>['"])?`,
      `${lead} \`«kalomi»' (1001) with group \`«osvuh»' ...`,
    ),
  ),
  phrase(
    String.raw`\(<user>\) (?:LIST|REPLACE|DELETE|BEGIN EDIT|END EDIT) \(<user>\)`,
    'crontab[7]: («kalomi») LIST («osvuh»)',
  ),
  phrase(
    String.raw`\(<user>\) (?:CMD|LIST|RELOAD|BEGIN EDIT|END EDIT|REPLACE|DELETE|AUTH|MAIL|CMDOUT|CMDEND|ORPHAN|WRONG|ERROR|EXEC|INFO|UNSAFE|FAILED|BAD|INSECURE)(?![a-z])`,
    'CRON[7]: («елена.смирнов») CMD (/usr/bin/true)',
    'a (note) follows',
  ),
  phrase(String.raw`\(crontabs/<user>\)`, 'cron[7]: (x) RELOAD (crontabs/«kalomi»)'.replace('(x)', '(«osvuh»)')),
  phrase(String.raw`\(to <user>\) <user> on `, 'su[7]: (to «osvuh») «kalomi» on pts/1'),
  ...'pam sql ldap passwd passwd-file static shadow cache dict lua imap imap-login pop3 lmtp lda managesieve submission indexer-worker doveadm quota-status'
    .split(' ')
    .map((part) =>
      phrase(
        String.raw`${part}\((?:\d{1,9}, ?)?<listed>[,)]`,
        `auth: ${part}(«kalomi»,192.0.2.x): no`,
        `auth: ${part}(77): no`,
      ),
    ),
  phrase(
    String.raw`postgres: (?:[\w./-]{1,32}: )?<user> \S{1,64} (?:\[local\]|[0-9a-f.:x]{2,39}\(\d{1,5}\))`,
    'postgres: «kalomi» chat 192.0.2.x(4711) idle',
    'postgres: checkpointer',
  ),
];

const CREDENTIALS: readonly Row[] = [
  ...['Bearer ', 'bearer ', 'BEARER '].map((literal) =>
    special('bearer', literal, `sent ${literal}«abcdefghijklmnop» upstream`, `${literal}authentication is off`),
  ),
  ...['Basic ', 'basic '].map((literal) =>
    special('basic', literal, `sent ${literal}«a2Fsb21pOm9zdnVo» upstream`, `${literal}authentication is off`),
  ),
  special(
    'sasl',
    'authentication failed: ',
    'SASL PLAIN authentication failed: «AGFiYwBkZWY=»',
    'authentication failed: UGFzc3dvcmQ6',
  ),
  special('plain', 'resp=', 'AUTH\t1\tPLAIN\tresp=«AGFiYwBkZWY=»', 'resp=complete'),
  phrase(String.raw`hooks\.slack\.com/services/<path>`, 'https://hooks.slack.com/services/«T0/B1/Qm4Zx7Tb2Wn8»'),
  phrase(String.raw`discord\.com/api/webhooks/<path>`, 'https://discord.com/api/webhooks/«123456/Qm4Zx7Tb2Wn8»'),
  phrase(String.raw`discordapp\.com/api/webhooks/<path>`, 'https://discordapp.com/api/webhooks/«123456/Qm4Zx7Tb2Wn8»'),
  phrase(
    String.raw`webhook\.office\.com/webhookb2/<path>`,
    'https://webhook.office.com/webhookb2/«a@b/IncomingWebhook/c»',
  ),
  ...['enroll/', 'invite/', 'invitations/', 'join/'].map((lead) =>
    phrase(`${lead}<ticket>`, `POST /v1/${lead}«Qm4Zx7Tb2Wn8Lf» 200`, `route /v1/${lead}:ticket`),
  ),
  phrase("LOGIN <user> <'secret'>", 'a1 LOGIN «kalomi» "«osvuh and more»"', 'LOGIN page shown'),
  phrase('LOGIN "<user>" <\'secret\'>', 'a1 LOGIN "«kalomi»" "«osvuh and more»"', 'LOGIN "page" shown'),
  phrase('USER <user>"', 'FTP command: "USER «kalomi»"', 'a USER is asked for'),
  phrase('USER <user>: no such user', 'ftp1 (192.0.2.x): USER «kalomi»: no such user found', 'USER id: 5'),
  phrase('PASS <pass>"', 'FTP command: "PASS «osvuh»"', 'PASS test one'),
  phrase(
    String.raw`pid <n>\] \[<user>\] (?:FAIL [A-Z]|OK [A-Z]|FTP )`,
    '[pid 42] [«kalomi»] FAIL DOWNLOAD of it',
    '[pid 42] CONNECT',
  ),
  phrase('A=[a-z_]{1,32}:<user> ', 'P=esmtpsa A=login_server:«kalomi» S=5', 'A=5'),
  phrase(
    'Service="SIP",AccountID="<dialled>"',
    'Service="SIP",AccountID="«79160001122»",SessionID="0x7"',
    'Service="x"',
  ),
  phrase(
    'username <user> (?:privilege <n> )?(?:password|secret) \\d <pass>',
    'username «kalomi» privilege 5 password 0 «osvuh»',
  ),
  phrase('enable (?:password|secret) \\d <pass>', 'enable password 7 «0A1B2C»', 'enable secret storage'),
  phrase('machine <word> login <user> password <pass>', 'machine h.example.org login «kalomi» password «osvuh»'),
  phrase(
    'CONFIG" "SET" "(?:requirepass|masterauth)" <\'secret\'>',
    '[0 192.0.2.x:5] "CONFIG" "SET" "requirepass" "«osvuh and more»"',
    '"CONFIG" "SET" "maxmemory" "5"',
  ),
  ...['requirepass', 'masterauth'].map((name) =>
    phrase(`${name} ["']?<pass>(?:["']|$)`, `redis.conf:7:${name} «osvuhlimer»`, `${name} is not set here`),
  ),
  phrase('AUTH" (?:"<user>" )?<\'secret\'>', '[0 192.0.2.x:5] "AUTH" "«kalomi»" "«osvuh and more»"', '"AUTH" failed'),
  phrase("PASSWORD <'secret'>", "WITH PASSWORD '«it''s osvuh»'"),
  phrase("password <'secret'>", 'with password "«osvuh»" set', 'password is required'),
  phrase("IDENTIFIED BY <'secret'>", "GRANT ALL IDENTIFIED BY '«osvuh»'"),
  phrase("IDENTIFIED WITH <word> (?:BY|AS) <'secret'>", "IDENTIFIED WITH sha2 BY '«osvuh»'"),
  phrase(String.raw`PASSWORD\(<'secret'>`, "SELECT PASSWORD('«osvuh»')"),
  phrase(
    "createUser <user> (?:MD5|SHA)[\\d-]{0,4} <'secret'>(?: (?:DES|AES)\\d{0,3} <'secret'>)?",
    'createUser «kalomi» SHA "«osvuh and more»" AES "«osvuh»"',
    'createUser was called',
  ),
  // A jar of cookies as Netscape wrote it and curl does.
  ...['TRUE', 'FALSE'].map((lead) =>
    phrase(
      `${lead}\\t/[^\\t\\n]{0,128}\\t(?:TRUE|FALSE)\\t\\d{1,12}\\t[^\\t\\n]{1,128}\\t<pass>`,
      `.example.org\t${lead}\t/\tTRUE\t0\tlang5\t«osvuh»`,
      `${lead}\t/\tTRUE`,
    ),
  ),
  phrase('inline:<key>', 'a=crypto:1 AES inline:«heronsandgullsoverthesea»'),
];

const MAIL_AND_CALLS: readonly Row[] = [
  ...['Call from ', 'authenticate as ', 'extension ', 'authentication for ', 'Registration from '].map((lead) =>
    phrase(`${lead}<'dialled'>`, `chan_sip.c: ${lead}'«kalomi»' failed`, `${lead}nobody`),
  ),
  ...['SIP/', 'PJSIP/'].map((lead) =>
    phrase(
      `${lead}(?!(?:u|tel)-[0-9a-f]{8})<chan>(?:-[0-9a-f]{3,12})?(?=[\\s"',)\\]>&;/]|$)`,
      `Called ${lead}«kalomi»-0000001a`,
      'INVITE SIP/2.0 over SIP/2.0/UDP',
    ),
  ),
  phrase(
    'Processing <label> <<angle>>-><dialled> in context ',
    'Processing «kalomi ren» <«+79160001122»>->«osvuh» in context public',
    'Processing 5 files <none>',
  ),
  ...['CALLERID', 'CallerID'].map((lead) =>
    phrase(`${lead}\\((?:name|num|number|all|ani|dnid)\\)[=,] ?"?<callerid>`, `Set(${lead}(name)=«kalomi»)`),
  ),
  phrase("T=<'text'>", 'H=h P=esmtps T="«see you at nine»" for', 'T=remote_smtp'),
  phrase('U=<user> P=', '<= <> R=1 U=«kalomi» P=local S=33', 'U=3 R=2'),
  special(
    'bracketed',
    'Peer Connection Initiated with',
    '192.0.2.x:1194 [«kalomi»] Peer Connection Initiated with [AF_INET]192.0.2.x:1194',
    'Peer Connection Initiated with [AF_INET]192.0.2.x:1194',
  ),
  phrase(
    String.raw`Authentication of \[<slashed>\]`,
    'Authentication of [«kalomi»] was terminated by realm [reserved]',
    'Authentication of [a list] ended',
  ),
  phrase(
    String.raw`authenticate user \[<slashed>\]`,
    'failed to authenticate user [«kalomi»]',
    'cannot authenticate user [of this host]',
  ),
  phrase('Started by user <name>$', 'Started by user «Kalomi Ren»', 'Started by users of the group'),
  phrase(
    String.raw`Adding \w{0,32}(?:PASSWORD|PWD|SECRET|TOKEN)\w{0,32} property\. Its value is <'secret'>`,
    "PROPERTY CHANGE: Adding DBPASSWORD property. Its value is '«os vuh»'.",
    "PROPERTY CHANGE: Adding INSTALLLEVEL property. Its value is '1'.",
  ),
  phrase(
    String.raw`Modifying \w{0,32}(?:PASSWORD|PWD|SECRET|TOKEN)\w{0,32} property\. Its current value is <'secret'>\. Its new value: <'secret'>`,
    "Modifying DBPASSWORD property. Its current value is '«os vuh»'. Its new value: '«kalomi»'.",
    "Modifying INSTALLLEVEL property. Its current value is '1'. Its new value: '3'.",
  ),
  phrase(
    'snmp-server community <pass>(?= R[OW]| r[ow]| view |$)',
    'snmp-server community «osvuh» RO',
    'snmp-server community strings are kept by the device',
  ),
  special('recipient', 'R=', '1abc => «kalomi» R=local T=local', '1abc => /var/mail R=local'),
  phrase('o=<user> \\d{1,20} \\d{1,20} IN IP[46]', 'o=«kalomi» 2890844526 2890842807 IN IP4 h', 'o=1'),
];

const SQL: readonly Row[] = [
  ...['INSERT INTO ', 'insert into ', 'REPLACE INTO '].map((literal) =>
    special(
      'insert',
      literal,
      `${literal}users (id, name, login) VALUES (5, '«kalomi ren»', '«osvuh»')`,
      `${literal}counts (id, total) VALUES (5, 7), (6, 8)`,
    ),
  ),
  special(
    'columns',
    'Key (',
    'DETAIL:  Key (tenant, login)=(1, «kalomi») already exists.',
    'Key (tenant, total)=(1, 2) already exists.',
  ),
  special('failing', 'Failing row contains (', 'DETAIL:  Failing row contains («1, kalomi, osvuh»).'),
  ...['changed from ', 'updated from ', 'set to ', 'changed to ', 'changed: '].map((literal) =>
    special('changed', literal, `audit: secretKey ${literal}"«os vuh»"`, `topic ${literal}"a b"`),
  ),
  ...['LIKE ', 'ILIKE ', 'like '].map((literal) =>
    special('behind-column', literal, `WHERE u.login ${literal}'«kalomi»%'`, `WHERE topic ${literal}'a%'`),
  ),
  ...['IN (', 'in ('].map((literal) =>
    special(
      'behind-column',
      literal,
      `WHERE login ${literal}'«kalomi»', '«osvuh»')`,
      `WHERE state ${literal}'open', 'shut')`,
    ),
  ),
  ...['CREATE', 'ALTER', 'DROP'].flatMap((verb) =>
    ['USER', 'ROLE'].map((what) =>
      phrase(`${verb} ${what} (?:IF (?:NOT )?EXISTS )?["'\`]?<user>`, `${verb} ${what} «kalomi» LOGIN`),
    ),
  ),
  phrase(
    `SET PASSWORD FOR ["'\`]?<user>(?:[^=\\n]{0,80}= ?(?:PASSWORD\\()?<'secret'>)?`,
    "SET PASSWORD FOR '«kalomi»'@'%' = '«osvuh»'",
  ),
  phrase('oracle:thin:<thin>@', 'jdbc:oracle:thin:«kalomi/osvuh»@db.example.org:1521/x'),
];

/** Logs without names of fields, known by what stands where. */
const LINES: readonly Row[] = [
  // The log of OpenVPN, where a client's name stands before its address.
  line(
    '-',
    4,
    String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (?:us=\d{1,6} )?<slashed>/(?=\d{1,3}\.[\d.]{3,9}\.[\dx]{1,3}:\d{1,5} (?:MULTI|PUSH|SENT|TLS|SIG|Data|Outgoing|Incoming|peer|VERIFY|\[))`,
    '2026-11-20 10:11:12 «kalomi»/192.0.2.x:1194 MULTI_sva: pool returned IPv4=192.0.2.x',
    '2026-11-20 10:11:12 web01/192.0.2.x:9092 could not be reached',
  ),
  // Addresses behind a name's dash: hosts of a cloud, pools of HDFS.
  phrase('ip-(?=\\d{1,3}\\.\\d)', 'node ip-192.0.2.«7» is up', 'ip-tables 1.8.7'),
  phrase('BP-\\d{1,12}-(?=\\d{1,3}\\.\\d)', 'BP-108841162-192.0.2.«7»-1440074360971:blk_1', 'BP-1-2'),
  // The audit plugin of MariaDB, to a file and to syslog.
  line(
    ',',
    17,
    String.raw`\d{8} \d\d:\d\d:\d\d,[\w.-]{0,64},<user>,[\w.:-]{0,45},\d{1,20},\d{1,20},[A-Z_]{3,20},`,
    '20261120 10:11:12,db1,«kalomi»,192.0.2.x,5,0,CONNECT,app,,0',
    '20261120 10:11:12,db1,,192.0.2.x,5,0,CONNECT,app,,0',
  ),
  phrase(
    String.raw`mysql-server_auditing: [\w.-]{0,64},<user>,[\w.:-]{0,45},\d{1,20},\d{1,20},[A-Z_]{3,20},`,
    'mysql-server_auditing: db1,«kalomi»,192.0.2.x,5,0,CONNECT,app,,0',
    'mysql-server_auditing: started',
  ),
  // The access log of Squid.
  line(
    '.',
    10,
    String.raw`\d{10}\.\d{3} {1,8}\d{1,9} \S{1,45} [A-Z_]{3,40}/\d{3} \d{1,12} [A-Z]{2,20} \S{1,300} <user> [A-Z_]{3,40}/`,
    '1700000000.123    55 192.0.2.x TCP_TUNNEL/200 3426 CONNECT h:443 «kalomi» HIER_DIRECT/192.0.2.x -',
    '1700000000.123    55 192.0.2.x TCP_TUNNEL/200 3426 CONNECT h:443 - HIER_DIRECT/192.0.2.x -',
  ),
  // The log of requests of Artifactory.
  line(
    '|',
    24,
    String.raw`[\dT:.Z+-]{20,30}\|[0-9a-f]{8,32}\|\S{2,45}\|<user>\|[A-Z]{3,8}\|`,
    '2026-11-20T10:11:12.123Z|4f9a1c7e2b8d3f6a|192.0.2.x|«kalomi»|GET|/api|200|-1|0|5|pip',
    '2026-11-20T10:11:12.123Z|4f9a1c7e2b8d3f6a|192.0.2.x||GET|/api|200|-1|0|5|pip',
  ),
];

export const PHRASES: readonly Row[] = [...LINES, ...SSHD, ...SESSIONS, ...CREDENTIALS, ...MAIL_AND_CALLS, ...SQL];
