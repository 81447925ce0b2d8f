/** A real directory server (OpenLDAP's slapd) on loopback over a folder of its own, with people and groups in it. */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Attribute, Change, Client } from 'ldapts';
import { makeCertificate } from '#test/support/certificate.ts';
import { freePort } from '#test/support/real-program.ts';
import { until } from '#test/support/waiting.ts';

export const BASE = 'dc=example,dc=org';
export const ROOT = `cn=admin,${BASE}`;
export const ROOT_PASSWORD = 'heron keeps the directory';
export const PEOPLE = `ou=people,${BASE}`;
export const GROUPS = `ou=groups,${BASE}`;

export interface Slapd {
  readonly plain: string;
  readonly secure: string;
  /** In PEM: what vouches for it. */
  readonly certificate: string;
  /** The server, bound as its administrator. */
  readonly admin: <T>(work: (client: Client) => Promise<T>) => Promise<T>;
  add(uid: string, more?: Readonly<Record<string, string>>): Promise<void>;
  set(dn: string, type: string, ...values: string[]): Promise<void>;
  kill(): Promise<void>;
  revive(): Promise<void>;
}

/** The attributes of Active Directory and of 389 Directory Server that disable somebody are not in the schemas of OpenLDAP. */
const configurationOf = (folder: string) => `
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
attributetype ( 1.2.840.113556.1.4.8 NAME 'userAccountControl' EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
attributetype ( 2.16.840.1.113730.3.1.610 NAME 'nsAccountLock' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE )
objectclass ( 1.3.6.1.4.1.4203.666.1 NAME 'controlled' AUXILIARY MAY ( userAccountControl $ nsAccountLock ) )
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload ppolicy
pidfile ${folder}/pid
TLSCertificateFile ${folder}/certificate.pem
TLSCertificateKeyFile ${folder}/key.pem
database mdb
suffix "${BASE}"
rootdn "${ROOT}"
rootpw "${ROOT_PASSWORD}"
directory ${folder}/data
overlay ppolicy
# The least that a server asks of pages: more than this at once is refused.
limits * size.soft=700 size.hard=700 size.pr=500 size.prtotal=unlimited
access to attrs=userPassword by anonymous auth by * none
access to * by * read
`;

export async function startSlapd(context: { after(end: () => Promise<void>): void }): Promise<Slapd> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-slapd-'));
  const [port, securePort] = [await freePort(), await freePort()];
  const { certificate, key } = makeCertificate(Date.now(), 30, ['localhost', '127.0.0.1']);
  await mkdir(join(folder, 'data'));
  await writeFile(join(folder, 'slapd.conf'), configurationOf(folder));
  await writeFile(join(folder, 'certificate.pem'), certificate);
  await writeFile(join(folder, 'key.pem'), key);
  const [plain, secure] = [`ldap://localhost:${port}`, `ldaps://localhost:${securePort}`];
  const admin = async <T>(work: (client: Client) => Promise<T>): Promise<T> => {
    const client = new Client({ url: `ldap://127.0.0.1:${port}`, connectTimeout: 2_000, timeout: 5_000 });
    try {
      await client.bind(ROOT, ROOT_PASSWORD);
      return await work(client);
    } finally {
      await client.unbind();
    }
  };
  const start = async () => {
    const urls = `ldap://127.0.0.1:${port} ldaps://127.0.0.1:${securePort}`;
    const child = spawn('slapd', ['-f', join(folder, 'slapd.conf'), '-h', urls, '-d', '0'], { stdio: 'ignore' });
    const isUp = async () => await admin(async () => await Promise.resolve(true)).catch(() => undefined);
    await until(isUp, 'slapd to answer');
    return child;
  };
  let child = await start();
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => void child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  };
  context.after(async () => {
    await kill();
    await rm(folder, { recursive: true, force: true });
  });
  await admin(async (client) => {
    await client.add(BASE, { objectClass: ['dcObject', 'organization'], o: 'Example', dc: 'example' });
    for (const ou of ['people', 'groups'])
      await client.add(`ou=${ou},${BASE}`, { objectClass: ['organizationalUnit'], ou });
  });
  return {
    plain,
    secure,
    certificate,
    admin,
    kill,
    revive: async () => {
      child = await start();
    },
    add: async (uid, more = {}) => {
      const entry = { cn: uid, sn: uid, uid, userPassword: passwordOf(uid), ...more };
      const objectClass = ['inetOrgPerson', 'controlled'];
      await admin(async (client) => await client.add(`uid=${uid},${PEOPLE}`, { objectClass, ...entry }));
    },
    set: async (dn, type, ...values) => {
      const modification = new Attribute({ type, values });
      await admin(async (client) => await client.modify(dn, new Change({ operation: 'replace', modification })));
    },
  };
}

export function passwordOf(uid: string): string {
  return `heron over the lake of ${uid}`;
}
