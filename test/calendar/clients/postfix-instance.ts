/**
 * A Postfix of the test's own, on loopback, with opendkim in front: what comes to its public port is checked and handed
 * to Parley over LMTP, what comes to its submission port goes to a mailbox outside.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import PostalMime, { type Email } from 'postal-mime';
import { freePort } from '#test/support/real-program.ts';
import { until } from '#test/support/waiting.ts';

/** Whom the mailbox outside belongs to: Postfix delivers as anybody but root. */
const NOBODY = 65_534;
/** The name that opendkim writes its results under. */
export const AUTHSERV = 'mx.example.org';
export const DKIM_SELECTOR = 'test';

export interface PostfixPorts {
  /** As the internet comes: opendkim looks at it. */
  readonly public: number;
  /** As Parley comes with what it sends. */
  readonly submission: number;
  readonly lmtp: number;
  readonly milter: number;
}

/** As `docs/operations.md` has it, beside what keeps this one to itself. */
function mainCf(folder: string, ports: PostfixPorts): string {
  return `
compatibility_level = 3.6
queue_directory = ${folder}/queue
data_directory = ${folder}/data
maillog_file = ${folder}/log
maillog_file_prefixes = ${folder}
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
smtp_dns_support_level = disabled
myhostname = ${AUTHSERV}
mydestination =
local_recipient_maps =
alias_maps =
default_transport = error:nothing leaves this machine
virtual_mailbox_domains = outside.test
virtual_mailbox_base = ${folder}/mail
virtual_mailbox_maps = static:inbox/
virtual_uid_maps = static:${NOBODY}
virtual_gid_maps = static:${NOBODY}
queue_run_delay = 1s
minimal_backoff_time = 1s
maximal_backoff_time = 1s
relay_domains = example.org
transport_maps = inline:{ { example.org = lmtp:inet:127.0.0.1:${ports.lmtp} } }
lmtp_destination_recipient_limit = 100
smtpd_recipient_restrictions = reject_unauth_destination, reject_unverified_recipient
unverified_recipient_reject_code = 550
address_verify_poll_delay = 1s
address_verify_negative_refresh_time = 3s
address_verify_negative_expire_time = 6s
header_checks = regexp:${folder}/header_checks
milter_default_action = tempfail
address_verify_map =
`;
}

const SERVICES = `
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
verify unix - - n - 1 verify
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
relay unix - - n - - smtp
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
virtual unix - n n - - virtual
lmtp unix - - n - - lmtp
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
`;

function masterCf(ports: PostfixPorts): string {
  return `
127.0.0.1:${ports.public} inet n - n - - smtpd -o smtpd_milters=inet:127.0.0.1:${ports.milter} -o mynetworks=
127.0.0.1:${ports.submission} inet n - n - - smtpd -o smtpd_recipient_restrictions=permit_mynetworks,reject
${SERVICES}`;
}

function opendkimConf(folder: string, ports: PostfixPorts): string {
  return `
Mode v
Socket inet:${ports.milter}@127.0.0.1
AuthservID ${AUTHSERV}
AlwaysAddARHeader yes
InternalHosts ${folder}/internal
TestPublicKeys ${folder}/keys
UserID nobody
Syslog no
`;
}

export class Postfix {
  readonly ports: PostfixPorts;
  readonly #folder: string;
  readonly #milter: ChildProcess;

  private constructor(folder: string, ports: PostfixPorts, milter: ChildProcess) {
    this.ports = ports;
    this.#folder = folder;
    this.#milter = milter;
  }

  /** Starts both in a folder of theirs. @param publicKey of whoever signs for outside.test, as its DNS has it. */
  static async start(folder: string, publicKey: string): Promise<Postfix> {
    const ports = {
      ...{ public: await freePort(), submission: await freePort(), lmtp: await freePort(), milter: await freePort() },
    };
    for (const name of ['', 'queue', 'data', 'mail', 'mail/inbox']) mkdirSync(join(folder, name), { recursive: true });
    chmodSync(folder, 0o755);
    chownSync(join(folder, 'mail'), NOBODY, NOBODY);
    chownSync(join(folder, 'mail/inbox'), NOBODY, NOBODY);
    assert.equal(spawnSync('chown', ['postfix', join(folder, 'data')]).status, 0);
    const files = {
      'main.cf': mainCf(folder, ports),
      'master.cf': masterCf(ports),
      'opendkim.conf': opendkimConf(folder, ports),
      keys: `${DKIM_SELECTOR}._domainkey.outside.test v=DKIM1; k=rsa; p=${publicKey}\n`,
      header_checks: '/^Authentication-Results[[:space:]]*:/ IGNORE\n',
      // Nobody: or what comes from this machine would be its own, and not looked at.
      internal: '192.0.2.1\n',
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const milter = spawn('opendkim', ['-f', '-x', join(folder, 'opendkim.conf')], { stdio: 'inherit' });
    const postfix = new Postfix(folder, ports, milter);
    try {
      postfix.#run('postfix', 'start');
      for (const port of [ports.public, ports.submission, ports.milter]) await answers(port);
    } catch (error) {
      await postfix.stop();
      throw error;
    }
    return postfix;
  }

  /** What waits to be delivered, as the queue names it. */
  queue(): string[] {
    const { stdout } = this.#run('postqueue', '-j');
    return stdout.split('\n').filter((line) => line !== '');
  }

  get log(): string {
    return readFileSync(join(this.#folder, 'log'), 'utf8');
  }

  /** The mails in the mailbox outside that fit, once there are some; each is taken out. */
  async received(fits: (mail: Email) => boolean, what: string): Promise<{ email: Email; source: string }[]> {
    const inbox = join(this.#folder, 'mail/inbox/new');
    return await until(async () => {
      const found: { email: Email; source: string }[] = [];
      for (const name of namesIn(inbox)) {
        const source = readFileSync(join(inbox, name), 'utf8');
        const email = await PostalMime.parse(source);
        if (!fits(email)) continue;
        found.push({ email, source });
        rmSync(join(inbox, name));
      }
      return found.length > 0 && found;
    }, what);
  }

  async stop(): Promise<void> {
    spawnSync('postfix', ['-c', this.#folder, 'stop']);
    const { exitCode, signalCode } = this.#milter;
    if (exitCode !== null || signalCode !== null) return;
    const ended = once(this.#milter, 'exit');
    this.#milter.kill();
    await ended;
  }

  #run(command: string, ...args: string[]) {
    const ended = spawnSync(command, ['-c', this.#folder, ...args], { encoding: 'utf8' });
    assert.equal(ended.status, 0, `${command} ${args.join(' ')}: ${ended.stderr}${ended.stdout}`);
    return ended;
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // Postfix makes it with the first mail.
    return [];
  }
}

async function answers(port: number): Promise<void> {
  await until(async () => {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return true;
    } catch {
      return false;
    } finally {
      socket.destroy();
    }
  }, `port ${port}`);
}
