/** `npm run bench -- NAME… [--full | --smoke] [--json FILE] [--data FOLDER] [--shards N] [--rounds N]`. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeBundle } from '#test/support/bundle.ts';
import type { Bench } from './harness/bench.ts';
import { checkoutFacts, machineFacts } from './harness/machine.ts';
import { OptionError, readOptions, type Options } from './harness/options.ts';
import { choosePins, NOT_PINNED } from './harness/pinning.ts';
import { Recorder } from './harness/recorder.ts';
import type { Report } from './harness/schema.ts';
import { printReport } from './harness/table.ts';
import { attachments } from './macro/attachments.ts';
import { caldav } from './macro/caldav.ts';
import { caldavLarge } from './macro/caldav-large.ts';
import { callSetup } from './macro/call-setup.ts';
import { catchUp } from './macro/catch-up.ts';
import { chatMix } from './macro/chat-mix.ts';
import { cluster } from './macro/cluster.ts';
import { connectStorm } from './macro/connect-storm.ts';
import { consoleRead } from './macro/console-read.ts';
import { historyPage } from './macro/history-page.ts';
import { idleSockets } from './macro/idle-sockets.ts';
import { neighbours } from './macro/neighbours.ts';
import { postAck } from './macro/post-ack.ts';
import { presenceStorm } from './macro/presence-storm.ts';
import { pushDecision } from './macro/push-decision.ts';
import { roomFanout } from './macro/room-fanout.ts';
import { search } from './macro/search.ts';
import { tls } from './macro/tls.ts';
import { vendorTiming } from './macro/vendor-timing.ts';
import { web } from './macro/web.ts';
import { calendarExpand } from './micro/calendar-expand.ts';
import { davXml } from './micro/dav-xml.ts';
import { directorySearch } from './micro/directory-search.ts';
import { portLink } from './micro/port-link.ts';
import { redaction } from './micro/redaction.ts';
import { roomPresence } from './micro/room-presence.ts';

const BENCHES: readonly Bench[] = [
  postAck,
  roomFanout,
  cluster,
  chatMix,
  callSetup,
  presenceStorm,
  idleSockets,
  connectStorm,
  catchUp,
  historyPage,
  search,
  attachments,
  consoleRead,
  vendorTiming,
  neighbours,
  tls,
  web,
  caldav,
  caldavLarge,
  pushDecision,
  roomPresence,
  calendarExpand,
  davXml,
  directorySearch,
  portLink,
  redaction,
];

const CACHE = fileURLToPath(new URL('../node_modules/.cache', import.meta.url));
/** Shards of the server under test unless `--shards` says otherwise: the least that its own default would take. */
const SHARDS_MIN = 2;
/** A smoke run takes no figure that others could disturb, and mostly waits: one more at a time than the cores of a small machine. */
const SMOKES_AT_ONCE = 3;

async function runBench(bench: Bench, options: Options): Promise<Report> {
  // Side by side, the servers of a smoke run would share one core while the other rests.
  const pins = options.size === 'smoke' ? NOT_PINNED : choosePins();
  const machine = machineFacts(pins, options.folder ?? tmpdir());
  const recorder = new Recorder(bench.name, options.size, machine, checkoutFacts());
  const shards = options.shards ?? Math.max(SHARDS_MIN, pins.server.length);
  if (!pins.isPinned && options.size !== 'smoke')
    recorder.note('taskset or a second core is missing: server and generators share cores, and every figure suffers');
  if (machine.dataFileSystem === 'tmpfs')
    recorder.note('the data folder is in memory: durable writes cost nothing here');
  const { folder, rounds } = options;
  try {
    const optional = { ...(folder === undefined ? {} : { folder }), ...(rounds === undefined ? {} : { rounds }) };
    await bench.run({ size: options.size, pins, recorder, shards, ...optional });
  } catch (error) {
    recorder.fail(error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  return recorder.report();
}

async function main(): Promise<number> {
  const options = readOptions(
    process.argv.slice(2),
    BENCHES.map((bench) => bench.name),
  );
  if (options.size === 'smoke') await startQuickly();
  const reports: Report[] = [];
  const waiting = BENCHES.filter(({ name }) => options.names.includes(name)).values();
  // All take from one iterator, so each bench runs once.
  const runNext = async () => {
    for (const bench of waiting) {
      process.stderr.write(`${bench.name}: ${bench.say}\n`);
      // oxlint-disable-next-line no-await-in-loop -- So many at a time and no more; where figures count, one.
      const report = await runBench(bench, options);
      reports.push(report);
      process.stdout.write(`${printReport(report)}\n`);
      // Written after each bench, so that a run that is broken off leaves what it has.
      if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(reports, undefined, 2)}\n`);
    }
  };
  const atOnce = options.size === 'smoke' ? SMOKES_AT_ONCE : 1;
  await Promise.all(Array.from({ length: atOnce }, runNext));
  return reports.some((report) => report.failures.length > 0) ? 1 : 0;
}

/**
 * Has Node remember between the starts of a run what it compiled, and start the server bundled, until this process ends. A smoke run
 * mostly starts processes, and states no figure that this could better; every other run starts all of them as they are started in
 * earnest.
 */
async function startQuickly(): Promise<void> {
  // Below `node_modules`, where the bundle finds its packages.
  mkdirSync(CACHE, { recursive: true });
  const folder = mkdtempSync(join(CACHE, 'parley-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  process.env['NODE_COMPILE_CACHE'] = join(folder, 'compiled');
  process.env['TEST_BUNDLE'] = join(folder, 'bundle');
  await writeBundle(process.env['TEST_BUNDLE'], { maps: false });
}

// Ending by `exit` runs the clean-up of servers, generators and folders.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof OptionError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
