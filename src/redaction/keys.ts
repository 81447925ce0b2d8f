/** What a key's name says about its value. The name decides wherever the key stands: log, JSON, query, header. */

export type KeyClass =
  | 'none'
  | 'secret'
  | 'password'
  | 'authorization'
  | 'cookie'
  | 'text'
  | 'user'
  | 'user-id'
  | 'directory'
  | 'address'
  | 'phone'
  | 'code'
  | 'id'
  | 'audit'
  | 'socket-address'
  | 'pair-name'
  | 'pair-value'
  | 'people';

type Table = Readonly<Record<string, KeyClass>>;

/** Names as they are, in lower case with `_` and `-` left out. */
const EXACT: Table = {
  ...table(
    'password',
    'password passwords passwd pwd pass passphrase passcode userpassword olcrootpw rootpw bindpw bindpassword pgpassword mysqlpwd requirepass sshpass masterauth пароль',
  ),
  ...table(
    'secret',
    'secret token apikey accesskey secretkey privatekey presharedkey clientsecret auth authtoken accesstoken refreshtoken idtoken sessiontoken credential credentials dsn sig signature xamzsignature xamzcredential dsassecret accountkey sharedaccesskey sharedaccesssignature privatemac staticauthsecret nonce cnonce receivedhash expectedresponse challenge xauthtoken xadmintoken xnodetoken xvaulttoken privatetoken jobtoken xamzsecuritytoken awssecretaccesskey awssessiontoken turnsecret turncredential mnemonic otpsecret totpsecret webhooksecret signingkey encryptionkey masterkey sessionkey hmackey jsessionid phpsessid sessid gitlabsession csrftoken xsrftoken csrf invitation invite joincode jointoken resettoken devicetoken pushtoken registrationtoken fcmtoken apnstoken wskey secwebsocketkey',
  ),
  ...table('authorization', 'authorization proxyauthorization xauthorization authorisation'),
  ...table('cookie', 'cookie setcookie cookie2 setcookie2 cookies'),
  ...table(
    'text',
    'subject body text preview messagetext messagebody snippet excerpt caption plaintext bodytext texthtml htmlbody textbody mailsubject тема',
  ),
  ...table(
    'user',
    'user username login account actor sub sender rcpt saslusername saslsender displayname acct ruser logname remoteuser authuser authname owner nick nickname fullname firstname lastname givenname surname realname patronymic recipient mailbox invitedby createdby updatedby deletedby issuedby revokedby inviter accountid authlogin userlogin smtplogin dblogin identity principal origto user2 clientuser targetuser participant participants member members peeruser invitee assignee organizer attendee author creator modifiedby uploadedby requestedby upn uniquename preferredname familyname middlename gecos mailnickname suser duser usrname setid callername calleename calleridname fromname sipfromdisplay authorname sendername recipientname contactname participantname membername fu tu пользователь логин',
  ),
  ...table('user-id', 'uid auid userid ownerid actorid senderid accountnumber euid suid fsuid'),
  ...table('directory', 'cn sn samaccountname userprincipalname uidnumber memberuid uniquemember'),
  ...table(
    'address',
    'from to cc bcc mail email emailaddress replyto returnpath deliveredto envelopefrom envelopeto mailfrom rcptto',
  ),
  ...table(
    'phone',
    'phone phones msisdn tel mobile caller callee telephone phonenumber mobilephone homephone workphone telephonenumber callerid calleridnum callernumber calleenumber callednumber callingnumber destinationnumber pager facsimiletelephonenumber dstouser srcouser dnis ani телефон',
  ),
  ...table(
    'code',
    'code otp pin recoverycode verificationcode smscode totp mfacode passcode2 onetimecode confirmationcode',
  ),
  ...table(
    'id',
    'sha sha1 sha224 sha256 sha384 sha512 md5 digest checksum etag commit rev revision build buildid fingerprint traceid spanid parentid parentspanid req request requestid reqid correlationid conv conversationid conversation device deviceid callid messageid msgid inreplyto references contentmd5 hash filehash imagedigest containerid bootid machineid invocationid cursor queueid serial traceparent tracestate xrequestid xtraceid xcorrelationid blake3 crc32 ifnonematch ifmatch changeset publickey tag path file filename uuid guid jti kid clientmsgid eventid jobid txid transactionid',
  ),
  ...table('audit', 'comm cwd name exe cmd proctitle a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 data grantors'),
  ...table('socket-address', 'saddr'),
  ...table('pair-name', 'key field header variable param parameter property attribute'),
  ...table('pair-value', 'value'),
  // A number under these names counts; a list holds the names.
  ...table(
    'people',
    'users usernames logins recipients attendees invitees organizers senders admins administrators owners assignees authors',
  ),
};

/** Last words of longer names. */
const LAST: Table = {
  ...table('password', 'password passwords passwd pwd pass passphrase psw'),
  ...table('secret', 'secret token apikey credential credentials dsn signature authtoken secrets cookiesecret'),
  ...table('user', 'user username'),
  ...table('phone', 'phone msisdn mobile telephone'),
  ...table('cookie', 'cookie'),
  ...table('address', 'email mail'),
  ...table('code', 'otp'),
};

/** Two last words of longer names. */
const LAST_TWO: Table = {
  ...table('secret', 'apikey accesskey secretkey privatekey signingkey encryptionkey masterkey sharedkey authkey'),
  ...table('user', 'displayname username idname'),
  ...table('phone', 'phonenumber idnumber destinationnumber'),
  ...table('id', 'traceid requestid spanid correlationid messageid deviceid conversationid commitid'),
};

/** Words that make the last one harmless: what is told about the secret, the login or the person is not it. */
const HARMLESS_FIRST = new Set([
  'last',
  'first',
  'max',
  'min',
  'num',
  'count',
  'has',
  'is',
  'no',
  'total',
  'public',
  'public_key',
  'failed',
  'next',
  'per',
  'with',
  'bytes',
  'since',
  'auto',
  'content',
  'allow',
  'require',
  'enable',
  'single',
  'multi',
  'page',
  'continuation',
  'sync',
  'unexpected',
  'invalid',
]);

function table(keyClass: KeyClass, names: string): Record<string, KeyClass> {
  return Object.fromEntries(names.split(' ').map((name) => [name, keyClass]));
}

/** The class of a key as it stands in the text: `db_password`, `X-Api-Key`, `smtpPass`. */
export function classOfKey(name: string): KeyClass {
  if (name.length > KEY_MAX) return 'none';
  // The scanner's names are UTF-8 bytes in a Latin-1 string.
  if (/[\u0080-\u00ff]/.test(name))
    return own(EXACT, Buffer.from(name, 'latin1').toString('utf8').toLowerCase()) ?? 'none';
  const whole = name.toLowerCase().replaceAll(/[-_]/g, '');
  const exact = own(EXACT, whole);
  if (exact !== undefined) return exact;
  const words = name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[-_.]+/)
    .filter((word) => word !== '');
  // A number behind a name tells instances apart: `password2`.
  const last = withoutNumber(words.at(-1) ?? '');
  if (words.length < 2) return last === whole ? 'none' : (own(EXACT, last) ?? 'none');
  if (words.slice(0, -1).some((word) => HARMLESS_FIRST.has(word))) return 'none';
  return own(LAST_TWO, `${words.at(-2)}${last}`) ?? own(LAST, last) ?? 'none';
}

function withoutNumber(word: string): string {
  let end = word.length;
  while (end > 0 && word.charCodeAt(end - 1) < 58) end -= 1;
  return word.slice(0, end);
}

function own(names: Table, name: string): KeyClass | undefined {
  return Object.hasOwn(names, name) ? names[name] : undefined;
}

/** The last three letters of every name: most words that stand like a key end in no such three. */
const ENDS = new Uint8Array(32 * 32 * 32);
for (const name of [...Object.keys(EXACT), ...Object.keys(LAST), ...Object.keys(LAST_TWO), 'private-lines', 'id'])
  ENDS[endOf(name, 0, name.length)] = 1;

/** The last three letters in one number; digits behind a name, dashes and underscores are left out. */
function endOf(source: string, start: number, end: number): number {
  let at = end - 1;
  while (at > start && source.charCodeAt(at) < 58) at -= 1;
  let packed = 0;
  for (let letters = 0; at >= start && letters < 3; at -= 1) {
    const byte = source.charCodeAt(at);
    if (byte === 45 || byte === 95) continue;
    packed = (packed << 5) | (byte & 31);
    letters += 1;
  }
  return packed;
}

/** Whether a word may be a name that says something of its value. */
export function canBeKey(source: string, start: number, end: number): boolean {
  return ENDS[endOf(source, start, end)] === 1;
}

/** A longer name is no key that anybody chose. */
export const KEY_MAX = 64;
/** Places of the cache; a name that falls on another's place pushes it out. */
const CACHE_SIZE = 4096;

/** Remembers the class of each key's name: logs repeat few of them. */
export class KeyCache {
  readonly #names = Array.from({ length: CACHE_SIZE }, () => '');
  readonly #classes = Array.from<KeyClass>({ length: CACHE_SIZE }).fill('none');

  classAt(source: string, start: number, end: number): KeyClass {
    const length = end - start;
    if (length > KEY_MAX || length === 0) return 'none';
    let hash = length;
    for (let at = start; at < end; at += 1) hash = (Math.imul(hash, 31) + source.charCodeAt(at)) | 0;
    const place = (hash ^ (hash >>> 12)) & (CACHE_SIZE - 1);
    if (isSame(this.#names[place] as string, source, start, length)) return this.#classes[place] as KeyClass;
    return this.#learn(source.slice(start, end), place);
  }

  #learn(name: string, place: number): KeyClass {
    const keyClass = classOfKey(name);
    // A copy: a slice would keep the whole log alive.
    this.#names[place] = Buffer.from(name, 'latin1').toString('latin1');
    this.#classes[place] = keyClass;
    return keyClass;
  }
}

function isSame(name: string, source: string, start: number, length: number): boolean {
  if (name.length !== length) return false;
  for (let at = 0; at < length; at += 1) if (name.charCodeAt(at) !== source.charCodeAt(start + at)) return false;
  return true;
}
