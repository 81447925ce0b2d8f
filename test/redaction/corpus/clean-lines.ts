/** Ordinary server logs without a person or a secret in them: every line must come out as it went in. */
import type { SeededRandom } from '#test/support/random.ts';
import { BASE62, BASE64, bytes, DIGITS, draw, drawMixed, HEX, LOWER, uuid } from './alphabets.ts';
import { CLEAN_RUNTIME_SOURCES } from './clean-runtime-lines.ts';
import { say, type CleanSource } from './clean-text.ts';

const HOSTS = [
  'mx1',
  'edge-3',
  'db02.internal',
  'node7.lan',
  'ip-10-0-3-17',
  '187-141-143-180.dyn.example.net',
  'web-7d4b9c6f5d-x2x7k',
];
const PATHS = [
  '/usr/share/nginx/html/favicon.ico',
  '/var/lib/postgresql/16/main/pg_wal/000000010000000A000000FE',
  '/opt/app/releases/20261120100000/bin/start',
  '/home/deploy/app/node_modules/.bin/tsc',
  '/sys/devices/pci0000:00/0000:00:1f.6/net/eth0',
  '/var/log/journal/3f2a1b9c0d4e5f60718293a4b5c6d7e8/system.journal',
  'C:\\Windows\\System32\\drivers\\etc\\hosts',
  '/static/img/logo@2x.png',
  '/run/user/1000/systemd/private',
];
const PACKAGES = [
  'libssl3:amd64',
  'nginx-core',
  'python3.11-minimal',
  'linux-image-6.8.0-45-generic',
  'ca-certificates',
  'libc6',
];

function two(random: SeededRandom, least: number, most: number): string {
  return String(random.whole(least, most)).padStart(2, '0');
}

function clock(random: SeededRandom): string {
  return `${two(random, 0, 23)}:${two(random, 0, 59)}:${two(random, 0, 59)}`;
}

function instant(random: SeededRandom): string {
  return `2026-${two(random, 1, 12)}-${two(random, 1, 28)}T${clock(random)}.${draw(random, DIGITS, 3)}Z`;
}

function version(random: SeededRandom): string {
  return `${random.whole(0, 20)}.${random.whole(0, 40)}.${random.whole(0, 40)}`;
}

function hex(random: SeededRandom, length: number): string {
  return draw(random, HEX, length);
}

function mac(random: SeededRandom): string {
  return Array.from({ length: 6 }, () => hex(random, 2)).join(':');
}

const WEB: readonly CleanSource[] = [
  (r) =>
    say`127.0.0.1 - - [20/Nov/2026:${clock(r)} +0300] "GET /static/js/app.${hex(r, 8)}.js HTTP/1.1" 200 ${r.whole(100, 9_999_999)} "https://chat.example.org/" "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/118.0.5993.117 Safari/537.36"`,
  (r) =>
    say`127.0.0.1 - - [20/Nov/2026:${clock(r)} +0300] "GET /v1/conversations/c_${draw(r, '0123456789abcdefghjkmnpqrstvwxyz', 22)}/messages?after_seq=${r.whole(1, 99_999)}&limit=200 HTTP/2.0" 200 ${r.whole(100, 99_999)} "-" "parley/${version(r)}"`,
  (r) =>
    say`2026/11/20 ${clock(r)} [error] 7#7: *${r.whole(1, 99_999)} open() "${r.pick(PATHS)}" failed (2: No such file or directory), client: 127.0.0.1, server: chat.example.org, request: "GET /favicon.ico HTTP/1.1"`,
  (r) => say`2026/11/20 ${clock(r)} [notice] 1#1: start worker process ${r.whole(2, 32_000)}`,
  (r) =>
    say`HTTP/2 304 etag="${hex(r, 32)}" last-modified: Fri, 20 Nov 2026 ${clock(r)} GMT cache-control: max-age=${r.whole(60, 31_536_000)}`,
];

const SSH: readonly CleanSource[] = [
  (r) => say`Nov 20 ${clock(r)} ${r.pick(HOSTS)} sshd[${r.whole(2, 32_000)}]: Server listening on 0.0.0.0 port 22.`,
  (r) =>
    say`Nov 20 ${clock(r)} ${r.pick(HOSTS)} sshd[${r.whole(2, 32_000)}]: error: kex_exchange_identification: Connection closed by remote host`,
  (r) =>
    say`Nov 20 ${clock(r)} ${r.pick(HOSTS)} sshd[${r.whole(2, 32_000)}]: Host key ED25519 SHA256:${draw(r, BASE64, 43)} loaded`,
  (r) =>
    say`Nov 20 ${clock(r)} ${r.pick(HOSTS)} sshd[${r.whole(2, 32_000)}]: Connection closed by 127.0.0.1 port ${r.whole(1024, 65_535)} [preauth]`,
  (r) => say`Nov 20 ${clock(r)} ${r.pick(HOSTS)} sshd[${r.whole(2, 32_000)}]: Received signal 15; terminating.`,
];

const POSTGRES: readonly CleanSource[] = [
  (r) =>
    say`2026-11-20 ${clock(r)}.${draw(r, DIGITS, 3)} UTC [${r.whole(2, 32_000)}] LOG:  checkpoint complete: wrote ${r.whole(1, 99_999)} buffers (0.8%); 0 WAL file(s) added, 0 removed, 3 recycled; write=${r.whole(1, 300)}.211 s, sync=0.004 s, total=3.402 s; lsn=0/${hex(r, 8).toUpperCase()}, redo lsn=0/${hex(r, 8).toUpperCase()}`,
  (r) =>
    say`2026-11-20 ${clock(r)}.${draw(r, DIGITS, 3)} UTC [${r.whole(2, 32_000)}] LOG:  duration: ${r.whole(1, 9999)}.345 ms  execute <unnamed>: SELECT id, created_at FROM messages WHERE seq > $1 ORDER BY seq LIMIT 200`,
  (r) =>
    say`2026-11-20 ${clock(r)} UTC [${r.whole(2, 32_000)}] ERROR:  relation "audit_entries" does not exist at character ${r.whole(1, 99)}`,
  (r) => say`2026-11-20 ${clock(r)} UTC [1] LOG:  database system is ready to accept connections`,
  (r) =>
    say`2026-11-20 ${clock(r)} UTC [${r.whole(2, 32_000)}] LOG:  automatic vacuum of table "main.public.messages": index scans: 1 pages: 0 removed, ${r.whole(1, 99_999)} remain`,
];

const KERNEL: readonly CleanSource[] = [
  (r) =>
    say`Nov 20 ${clock(r)} ${r.pick(HOSTS)} kernel: [${r.whole(1, 99_999)}.${draw(r, DIGITS, 6)}] e1000e 0000:00:1f.6 eth0: NIC Link is Up 1000 Mbps Full Duplex, Flow Control: None`,
  (r) => say`kernel: BIOS-e820: [mem 0x${hex(r, 16)}-0x${hex(r, 16)}] usable`,
  (r) => say`kernel: usb 1-${r.whole(1, 9)}: new high-speed USB device number ${r.whole(1, 99)} using xhci_hcd`,
  (r) => say`kernel: EXT4-fs (sda1): mounted filesystem ${uuid(r)} with ordered data mode. Quota mode: none.`,
  (r) => say`kernel: br0: port 2(veth${hex(r, 7)}) entered blocking state, hwaddr ${mac(r)}`,
  (r) =>
    say`kernel: RIP: 0010:do_syscall_64+0x5c/0x90 RSP: 0018:ffffb${hex(r, 11)} EFLAGS: 00000246 ORIG_RAX: 0000000000000101`,
  (r) => say`dhclient: DHCPDISCOVER on eth0 to 0.0.0.0 interval ${r.whole(1, 20)} (xid=0x${hex(r, 8)}) from ${mac(r)}`,
];

const SYSTEMD: readonly CleanSource[] = [
  (r) =>
    say`Nov 20 ${clock(r)} ${r.pick(HOSTS)} systemd[1]: Started nginx.service - A high performance web server and a reverse proxy server.`,
  (r) =>
    say`Nov 20 ${clock(r)} ${r.pick(HOSTS)} systemd[1]: nginx.service: Main process exited, code=exited, status=${r.whole(1, 9)}/FAILURE`,
  (r) =>
    say`Nov 20 ${clock(r)} ${r.pick(HOSTS)} systemd[1]: user@${r.whole(1000, 1999)}.service: Deactivated successfully.`,
  (r) =>
    say`Nov 20 ${clock(r)} ${r.pick(HOSTS)} systemd[1]: Created slice user-${r.whole(1000, 1999)}.slice - User Slice of UID ${r.whole(1000, 1999)}.`,
  (r) => say`systemd[1]: getty@tty1.service: Consumed ${r.whole(1, 9)}.234s CPU time.`,
  (r) => say`systemd-logind[${r.whole(2, 999)}]: Removed session ${r.whole(1, 999)}.`,
  (r) => say`systemd-logind[${r.whole(2, 999)}]: Session ${r.whole(1, 999)} logged out. Waiting for processes to exit.`,
];

const CONTAINERS: readonly CleanSource[] = [
  (r) =>
    say`time="${instant(r)}" level=info msg="ignoring event" module=libcontainerd namespace=moby topic=/tasks/delete exit=${r.whole(0, 9)}`,
  (r) => say`overlay mount /var/lib/docker/overlay2/${hex(r, 64)}/merged`,
  (r) => say`pulled registry.example.net/app@sha256:${hex(r, 64)} in ${r.whole(1, 99)}.2s`,
  (r) => say`Digest: sha256:${hex(r, 64)} Status: Image is up to date`,
  (r) =>
    say`I1120 ${clock(r)}.${draw(r, DIGITS, 6)}       1 controller.go:${r.whole(10, 999)}] "Observed pod" pod="default/web-${hex(r, 10)}-x2x7k" uid="${uuid(r)}"`,
];

const PACKAGING: readonly CleanSource[] = [
  (r) =>
    say`2026-11-20 ${clock(r)} status installed ${r.pick(PACKAGES)} ${version(r)}-0ubuntu${r.whole(1, 9)}.${r.whole(1, 20)}`,
  (r) => say`2026-11-20 ${clock(r)} upgrade ${r.pick(PACKAGES)} 1:${version(r)}+dfsg-1 1:${version(r)}+dfsg-2`,
  (r) =>
    say`npm http fetch GET 200 https://registry.npmjs.org/lodash/-/lodash-${version(r)}.tgz ${r.whole(1, 999)}ms (cache miss)`,
  (r) => say`npm warn deprecated inflight@${version(r)}: This module is not supported, and leaks memory.`,
  (r) => say`added ${r.whole(1, 999)} packages, and audited ${r.whole(1, 999)} packages in ${r.whole(1, 99)}s`,
  (r) => say`npm verbose integrity sha512-${bytes(r, 64).toString('base64')} for @types/node@${version(r)}`,
  (r) => say`go: downloading golang.org/x/net v0.${r.whole(1, 40)}.0-20261120${draw(r, DIGITS, 6)}-${hex(r, 12)}`,
  (r) => say`commit ${hex(r, 40)} (HEAD -> main, origin/main) pushed`,
  (r) =>
    say`deploy build=${hex(r, 40)} rev=${hex(r, 12)} version=${version(r)}.${r.whole(1, 255)} took ${r.whole(1, 999)}s`,
  (r) => say`verified release-${version(r)}.tar.gz sha256=${hex(r, 64)}`,
];

const DATASETS: readonly CleanSource[] = [
  (r) =>
    say`081109 ${draw(r, DIGITS, 6)} ${r.whole(1, 999)} INFO dfs.DataNode$PacketResponder: PacketResponder 1 for block blk_-${draw(r, '123456789', 19)} terminating`,
  (r) =>
    say`081109 ${draw(r, DIGITS, 6)} ${r.whole(1, 999)} INFO dfs.FSNamesystem: BLOCK* NameSystem.delete: blk_${draw(r, '123456789', 18)} is added to invalidSet of size ${r.whole(1, 67_108_864)}`,
  (r) =>
    say`- 11178${draw(r, DIGITS, 5)} 2005.06.03 R02-M1-N0-C:J12-U11 2005-06-03-${two(r, 0, 23)}.${two(r, 0, 59)}.${two(r, 0, 59)}.${draw(r, DIGITS, 6)} R02-M1-N0-C:J12-U11 RAS KERNEL INFO instruction cache parity error corrected`,
  (r) =>
    say`- 11178${draw(r, DIGITS, 5)} 2005.06.04 R24-M0-N1-C:J13-U11 RAS KERNEL INFO generating core.89${draw(r, DIGITS, 5)} at ${two(r, 0, 23)}.${two(r, 0, 59)}.${two(r, 0, 59)}.${draw(r, DIGITS, 6)}`,
  (r) =>
    say`2016-09-28 ${clock(r)}, Info                  CBS    Session: ${draw(r, DIGITS, 8)}_${draw(r, DIGITS, 10)} initialized by client WindowsUpdateAgent.`,
  (r) =>
    say`2016-09-28 ${clock(r)}, Info                  CBS    Read out cached package applicability for package: Package_for_KB${draw(r, DIGITS, 7)}~31bf3856ad364e35~amd64~~6.1.${r.whole(1, 9)}.${r.whole(1, 9)}, ApplicableState: 112, CurrentState:112`,
  (r) =>
    say`nova-compute.log ${instant(r)} ${r.whole(2, 9999)} INFO nova.virt.libvirt.driver [req-${uuid(r)} - - - - -] [instance: ${uuid(r)}] VM Started (Lifecycle Event)`,
  (r) =>
    say`Jun 14 ${clock(r)} combo logrotate: ALERT exited abnormally with [${r.whole(1, 9)}] after ${r.whole(1, 999)} files`,
];

const NUMBERS: readonly CleanSource[] = [
  (r) =>
    say`stats interface=eth0 rx_bytes=8${draw(r, DIGITS, 10)} tx_bytes=7${draw(r, DIGITS, 10)} rx_packets=${r.whole(1, 999_999_999)} errors=0`,
  (r) =>
    say`ts=17${draw(r, DIGITS, 8)} at=17${draw(r, DIGITS, 11)} uptime=${r.whole(1, 9_999_999)} load=0.${r.whole(10, 99)}`,
  (r) =>
    say`commit seq=8${draw(r, DIGITS, 10)} size=${r.whole(1, 2 ** 31)} offset=${draw(r, '123456789', 12)} lag=-${r.whole(1, 999)}`,
  (r) =>
    say`columns 8 91 234 567 ${r.whole(1, 99)} | 1.234567e+08 | +0300 | GMT+3 | ratio 1:2:3 | ${r.whole(0, 99)}.5%`,
  (r) => say`date 2026.11.20 ${clock(r)} jdn 2461${draw(r, DIGITS, 3)}.${draw(r, DIGITS, 5)} tz +03:00 ids ${uuid(r)}`,
  (r) => say`table std::vector<a::b> ns::inner::type ptr=0x${hex(r, 12)} addr 0x7ff${hex(r, 9)} align 16`,
  (r) =>
    say`X509 serial ${Array.from({ length: 16 }, () => hex(r, 2)).join(':')} sha1 fingerprint=${Array.from({ length: 20 }, () => hex(r, 2).toUpperCase()).join(':')}`,
  (r) => say`known_hosts entry matches SHA256:${draw(r, BASE62, 43)} for ${r.pick(HOSTS)}`,
  (r) => say`dd: md5=${hex(r, 32)} sha1=${hex(r, 40)} sha256=${hex(r, 64)} checksum=${hex(r, 64)} digest=${hex(r, 32)}`,
  (r) => say`span trace_id=${hex(r, 32)} span_id=${hex(r, 16)} request_id=${hex(r, 32)} correlation_id=${uuid(r)}`,
  (r) =>
    say`feature key_id=${draw(r, LOWER, 8)} token_type=bearer token_count=${r.whole(1, 9999)} tokens=${r.whole(1, 9999)} expires_in=${r.whole(60, 86_400)} keyboard=qwerty author=none`,
  (r) => say`host ${r.pick(HOSTS)} path ${r.pick(PATHS)} service vhost-${drawMixed(r, BASE62, 6)} ok`,
];

/** The programs whose lines are generated, by name. */
export const CLEAN_SOURCES: Readonly<Record<string, readonly CleanSource[]>> = {
  web: WEB,
  ssh: SSH,
  postgres: POSTGRES,
  kernel: KERNEL,
  systemd: SYSTEMD,
  containers: CONTAINERS,
  packaging: PACKAGING,
  datasets: DATASETS,
  numbers: NUMBERS,
  ...CLEAN_RUNTIME_SOURCES,
};
