/** Names of keys, and what they say of their value. Each name is a row of its own, its example made of its class. */
import type { KeyClass, NameRow, Row, WordRow } from '../rows.ts';

/** A value of each class in a line, as it goes or as it stays. */
const SHOWN: Readonly<Record<Exclude<KeyClass, 'none'>, (name: string) => { go: string[]; stay?: string[] }>> = {
  password: (name) => ({
    go: [`${name}=«hunterhunter» n=1`, `{"${name}":"«plain words here»"}`],
    stay: [`${name}= n=1`],
  }),
  secret: (name) => ({ go: [`${name}=«letmein9» n=1`, `{"${name}":"«s3cr3t»"}`], stay: [`${name}=null n=1`] }),
  authorization: (name) => ({ go: [`{"${name}":"«Bearer letmein»"}`] }),
  cookie: (name) => ({ go: [`{"${name}":"«a=b; c=d»"}`] }),
  text: (name) => ({ go: [`{"${name}":"«see you at nine»"}`] }),
  user: (name) => ({ go: [`${name}=«kalomi.ren» n=1`, `{"${name}":"«kalomi.ren»"}`], stay: [`${name}= n=1`] }),
  'user-id': (name) => ({
    go: [`${name}=«kalomi.ren» n=1`],
    stay: [`${name}=1000 n=1`, `{"${name}":"123e4567-e89b-12d3-a456-426614174000"}`],
  }),
  directory: (name) => ({ go: [`filter="(${name}=«kalomi ren»)"`] }),
  address: (name) => ({ go: [`${name}=<«kalomi»> n=1`] }),
  phone: (name) => ({ go: [`{"${name}":«9161234567»}`, `${name}=«9161234567» n=1`] }),
  code: (name) => ({ go: [`${name}=«481922» n=1`], stay: [`${name}=client_too_old`] }),
  id: (name) => ({ go: [], stay: [`${name}=4f9a1c7e2b8d3f6a0c5e9b1d7f3a8c2e n=1`] }),
  audit: (name) => ({ go: [`type=X ${name}=«2F7573722F62696E2F616C696365» n=1`] }),
  'socket-address': (name) => ({ go: [`${name}=02000050CB0071«4D»0000000000000000`] }),
  'pair-name': (name) => ({ go: [`{"${name}":"DB_PASSWORD","value":"«letmein9»"}`] }),
  'pair-value': (name) => ({ go: [`{"key":"DB_PASSWORD","${name}":"«letmein9»"}`] }),
  people: (name) => ({ go: [`{"${name}":["«kalomi.ren»","«osvuh»"]}`], stay: [`${name}=5 n=1`] }),
};

function names(keyClass: Exclude<KeyClass, 'none'>, list: string, isLast = false): NameRow[] {
  return list.split(' ').map((name) => ({ kind: 'name', name, class: keyClass, isLast, ...SHOWN[keyClass](name) }));
}

function words(list: string): WordRow[] {
  return list.split(' ').map((word) => ({ kind: 'word', word, go: [], stay: [`token=${word} n=1`] }));
}

export const NAMES: readonly Row[] = [
  ...names('password', 'password passwords passwd pwd pass passphrase', true),
  ...names('password', 'passcode olcrootpw rootpw bindpw mysqlpwd requirepass sshpass masterauth psw пароль'),
  ...names('secret', 'secret secrets token apikey credential credentials dsn signature', true),
  ...names(
    'secret',
    'accesskey secretkey privatekey presharedkey signingkey encryptionkey masterkey sharedkey authkey auth sig accountkey sharedaccesskey privatemac nonce cnonce receivedhash expectedresponse challenge mnemonic sessionkey secretid hmackey jsessionid phpsessid sessid gitlabsession csrf invitation invite wskey secwebsocketkey webhookkey licensekey servicekey storagekey consumerkey integrationkey',
  ),
  ...names('authorization', 'authorization', true),
  ...names('authorization', 'authorisation'),
  ...names('cookie', 'cookie', true),
  ...names('cookie', 'setcookie2 cookies'),
  ...names(
    'text',
    'subject body text preview messagetext messagebody snippet excerpt caption plaintext bodytext texthtml htmlbody textbody mailsubject emailsubject messagesubject msgsubject originalsubject subjectline betreff asunto тема',
  ),
  ...names('user', 'user username login', true),
  ...names(
    'user',
    'account actor sub sender uname rcpt saslsender displayname acct ruser logname authname owner nick nickname fullname firstname lastname givenname surname realname loginname accountname personname patronymic recipient mailbox invitedby createdby updatedby deletedby issuedby revokedby setby inviter authlogin userlogin smtplogin dblogin identity principal principalname origto clientuser targetuser participant participants member members peeruser invitee assignee organizer attendee author creator modifiedby uploadedby requestedby upn uniquename preferredname familyname middlename gecos mailnickname suser duser usrname setid callername calleename calleridname fromname sipfromdisplay authorname sendername recipientname contactname participantname membername fu tu who performedby performedbyname approvedby rejectedby submittedby changedby addedby removedby assignedby closedby resolvedby reviewedby grantedby executedby editedby reportedby acknowledgedby approver approvername reviewer reviewername adminname adminuser administratorname operatorname initiatedby startedby requester requestor jobowner userdn usercn accountcn adname unauthuser dstuser srcuser loggedprincipal utilisateur benutzer benutzername usuario gebruiker utente пользователь логин',
  ),
  ...names('user', 'sam', true),
  ...names(
    'user-id',
    'uid uidnumber auid userid accountid ownerid actorid senderid accountnumber euid suid fsuid memberid loginid',
  ),
  ...names('directory', 'cn sn samaccountname userprincipalname memberuid uniquemember'),
  ...names('address', 'mail email', true),
  ...names(
    'address',
    'from to cc bcc ctladdr emailaddress replyto returnpath deliveredto envelopefrom envelopeto mailfrom rcptto',
  ),
  ...names('phone', 'phone msisdn mobile telephone', true),
  ...names(
    'phone',
    'phones tel caller callee phonenumber mobilephone homephone workphone telephonenumber callerid clid calleridnum calleridnumber callernumber calleenumber callednumber callingnumber destinationnumber pager facsimiletelephonenumber dstouser srcouser dnis ani телефон',
  ),
  ...names('code', 'otp', true),
  ...names(
    'code',
    'code pin recoverycode verificationcode smscode totp mfacode onetimecode confirmationcode authcode logincode',
  ),
  ...names('id', 'commit', true),
  ...names(
    'id',
    'imaplogin poplogin managesievelogin submissionlogin ulid sha md5 digest checksum etag rev revision build buildid fingerprint traceid spanid parentid parentspanid req request requestid reqid correlationid conv conversationid conversation device deviceid callid messageid msgid inreplyto references contentmd5 hash filehash imagedigest containerid bootid machineid invocationid cursor queueid serial traceparent tracestate xrequestid xtraceid xcorrelationid blake3 crc32 ifnonematch ifmatch changeset publickey tag path file filename uuid guid jti kid clientmsgid eventid jobid txid transactionid commitid boundary',
  ),
  ...names('audit', 'comm cwd name exe cmd proctitle a0 a1 a2 a3 a4 a5 a6 a7 a8 a9 data grantors'),
  ...names('socket-address', 'saddr'),
  ...names('pair-name', 'key field header variable param parameter property attribute'),
  ...names('pair-value', 'value string'),
  // A number under these names counts; a list holds the names.
  ...names(
    'people',
    'users usernames logins recipients attendees invitees organizers senders admins administrators owners assignees authors',
  ),
  ...words(
    'null true false none nil undefined yes no set unset not ok required disabled enabled hidden redacted empty missing invalid expired unknown incorrect wrong mismatch mismatched failed failure is was must too the has unexpected unsupported unauthorized denied rejected accepted verified valid ok revoked changed unchanged optional default never absent malformed given provided found blocked locked error authentication refreshed renewed rotated protected masked filtered removed',
  ).filter(({ word }, at, all) => all.findIndex((other) => other.word === word) === at),
];
