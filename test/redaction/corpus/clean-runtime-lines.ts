/** Ordinary lines of programs and their runtimes: JSON of pino, Java, Python, Go, Redis, and plain English about secrets. */
import type { SeededRandom } from '#test/support/random.ts';
import { DIGITS, draw, HEX, uuid } from './alphabets.ts';
import { say, type CleanSource, type LongName } from './clean-text.ts';

const ID = '0123456789abcdefghjkmnpqrstvwxyz';
const JAVA_CLASSES = [
  'org.apache.kafka.clients.NetworkClient$InFlightRequests',
  'org.springframework.beans.factory.support.AbstractAutowireCapableBeanFactory',
  'com.example.AbstractSingletonProxyFactoryBeanConfigurationManagerImpl',
  'java.util.concurrent.ThreadPoolExecutor$Worker',
  'org.hibernate.engine.jdbc.spi.SqlExceptionHelper',
  'io.netty.channel.nio.AbstractNioByteChannel$NioByteUnsafe',
];

function id(random: SeededRandom, kind: string): string {
  return `${kind}_${draw(random, ID, 22)}`;
}

const PINO: readonly CleanSource[] = [
  (r) =>
    say`{"level":30,"time":17${draw(r, DIGITS, 11)},"pid":7,"hostname":"node7","reqId":"req-${r.whole(1, 9999)}","req":{"method":"GET","url":"/v1/inbox?after=${r.whole(1, 9999)}"},"res":{"statusCode":200},"responseTime":${r.whole(1, 99)}.25,"msg":"request completed"}`,
  (r) =>
    say`{"level":40,"time":17${draw(r, DIGITS, 11)},"conv":"${id(r, 'c')}","device":"${id(r, 'd')}","code":"client_too_old","status":426,"msg":"refused"}`,
  (r) =>
    say`{"level":30,"time":17${draw(r, DIGITS, 11)},"trace_id":"${draw(r, HEX, 32)}","span_id":"${draw(r, HEX, 16)}","shard":${r.whole(0, 7)},"lane":${r.whole(0, 63)},"msg":"commit took ${r.whole(1, 99)} ms"}`,
  (r) =>
    say`{"level":50,"err":{"type":"RangeError","message":"limit is out of range","stack":"RangeError: limit is out of range\\n    at readPage (file:///app/src/messaging/history.ts:${r.whole(1, 400)}:${r.whole(1, 80)})"},"msg":"failed"}`,
  (r) =>
    say`{"call_id":"${id(r, 'call')}","state":"ringing","seq":${r.whole(1, 99)},"ts":17${draw(r, DIGITS, 8)},"correlation_id":"${uuid(r)}"}`,
];

const RUNTIMES: readonly CleanSource[] = [
  (r) => say`	at ${r.pick(JAVA_CLASSES)}.poll(NetworkClient.java:${r.whole(10, 999)}) ~[kafka-clients-3.5.1.jar:?]`,
  (r) =>
    say`Caused by: java.lang.IllegalStateException: Failed to load ${r.pick(JAVA_CLASSES)} after ${r.whole(1, 9)} attempts`,
  (r) =>
    say`2026-11-20 10:${r.whole(10, 59)}:02,${draw(r, DIGITS, 3)} INFO  [http-nio-8080-exec-${r.whole(1, 99)}] ${r.pick(JAVA_CLASSES)} - initialised in ${r.whole(1, 9999)} ms`,
  (r) => say`  File "/usr/lib/python3.11/asyncio/base_events.py", line ${r.whole(1, 1999)}, in run_until_complete`,
  (r) =>
    say`goroutine ${r.whole(1, 999)} [running]: main.(*Server).serve(0xc000${draw(r, HEX, 6)}, 0x${draw(r, HEX, 2)}) /src/cmd/server/main.go:${r.whole(1, 999)} +0x1d`,
  (r) =>
    say`1:M 20 Nov 2026 10:00:${r.whole(10, 59)}.${draw(r, DIGITS, 3)} * Background saving terminated with success, DB saved on disk in ${r.whole(1, 99)} s`,
  (r) =>
    say`[gc][${r.whole(1, 9999)}] overhead, spent [${r.whole(100, 999)}ms] collecting in the last [1.${r.whole(0, 9)}s], node-${draw(r, HEX, 6)}`,
  (r) =>
    say`prometheus: http_requests_total{method="post",code="200",instance="node7:9100"} ${r.whole(1, 999_999)} 17${draw(r, DIGITS, 11)}`,
  (r) =>
    say`chronyd[${r.whole(2, 999)}]: System clock wrong by -0.${draw(r, DIGITS, 6)} seconds, stratum 2, frequency +${r.whole(1, 99)}.104 ppm`,
  (r) =>
    say`certbot: certificate /etc/letsencrypt/live/chat.example.org/fullchain.pem expires on 2027-01-${r.whole(10, 28)} in ${r.whole(10, 90)} days`,
];

const ENGLISH: readonly CleanSource[] = [
  (r) => say`Basic authentication is enabled for the realm, retry ${r.whole(1, 9)}`,
  (r) => say`the token expired and was renewed after ${r.whole(1, 99)} s`,
  (r) => say`password authentication is disabled; public keys only, attempt ${r.whole(1, 9)}`,
  (r) => say`Authorization header is missing, status ${r.pick([401, 403])}`,
  (r) => say`loaded ${r.whole(1, 99)} secrets and ${r.whole(1, 99)} keys from the store, none has changed`,
  (r) => say`rotation: public_key=none monkey=banana keyboard=us layout=${r.whole(1, 9)}`,
  (r) => say`mail from noreply@example.org to postmaster@example.org accepted, queue ${r.whole(1, 999)}`,
  (r) => say`bounce of MAILER-DAEMON@mx.example.net to abuse@example.org, try ${r.whole(1, 9)}`,
  (r) => say`запрос выполнен за ${r.whole(1, 999)} мс, повторов ${r.whole(0, 9)}, очередь пуста`,
  (r) =>
    say`сервис запущен на порту ${r.whole(1024, 65_535)}, версия 1.${r.whole(0, 40)}.${r.whole(0, 40)}, узел node7.lan`,
  (r) =>
    say`listening on 127.0.0.1:${r.whole(1024, 65_535)}, [::1]:${r.whole(1024, 65_535)} and 0.0.0.0:${r.whole(1024, 65_535)}`,
  (r) => say`password= token="" secret=null api_key=true user= login="" attempt=${r.whole(1, 9)}`,
  (r) => say`already done: u-1a2b3c4d tel-0f9e8d7c [REDACTED:secret] 203.0.113.x 2001:db8:12:: ${r.whole(1, 9)} times`,
];

const LONG_NAMES = (
  'extraordinarilylongidentifierwithoutanyseparators libgstreamerpluginsbase10dev HTTP2ConnectionManagerV3FactoryBean ' +
  'PROCESS_ENVIRONMENT_VARIABLE_NAME_2 nf_conntrack_netlink_max2048 com.apple.xpc.launchd.oneshot.0x10000003 ' +
  'kworker/u16:3-events_unbound donaudampfschifffahrtsgesellschaft react-native-gesture-handler-v2-compat ' +
  'getUserSessionByIdAndRefreshIfExpiredV2 org_freedesktop_NetworkManager1_Device_Wireless pg_stat_user_indexes_blks_hit_total ' +
  'x86_64-unknown-linux-musl-gcc11 MessageDeliveryReceiptWatermarkHandlerTest2 applicationinsightsdataplane20230101preview'
).split(' ');

function named(random: SeededRandom): LongName {
  return { longName: random.pick(LONG_NAMES) };
}

const IDENTIFIERS: readonly CleanSource[] = [
  (r) => say`module ${named(r)} loaded in ${r.whole(1, 999)} ms`,
  (r) => say`metric=${named(r)} value=${r.whole(1, 99_999)}`,
  (r) => say`{"level":30,"component":"${named(r)}","msg":"ready after ${r.whole(1, 99)} tries"}`,
  (r) => say`systemd[1]: systemd-fsck@dev-disk-by\\x2duuid-${uuid(r).replaceAll('-', '\\x2d')}.service: Succeeded.`,
  (r) => say`ldconfig: /usr/lib/x86_64-linux-gnu/libgssapi_krb5.so.2.2 (${named(r)}) is not a symbolic link`,
  (r) =>
    say`GET https://ec2-east-${r.whole(1, 9)}.compute.example-cloud.net/assets/${r.pick(LONG_NAMES)}/main.css 200 ${r.whole(1, 9999)}`,
];

export const CLEAN_RUNTIME_SOURCES: Readonly<Record<string, readonly CleanSource[]>> = {
  pino: PINO,
  runtimes: RUNTIMES,
  english: ENGLISH,
  identifiers: IDENTIFIERS,
};
