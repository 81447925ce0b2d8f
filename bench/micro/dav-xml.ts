/** `dav-xml`: CPU of reading the XML of a DAV request, ordinary and hostile, as long as each may be. */
import { readXmlBody, XML_BYTES_MAX } from '#src/calendar/dav/request-body.ts';
import { bySize, interleave, type Bench, type BenchContext } from '../harness/bench.ts';

const MIB = 1024 * 1024;
const ROOT = '<C:calendar-multiget xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav">';
const HREF = '<D:href>/dav/calendars/someone/default/0123456789abcdef.ics</D:href>';

function filled(inner: string, bytes: number): Buffer {
  const end = '</C:calendar-multiget>';
  return Buffer.from(`${ROOT}${inner.repeat(Math.floor((bytes - ROOT.length - end.length) / inner.length))}${end}`);
}

const CASES: readonly { readonly name: string; readonly body: Buffer }[] = [
  { name: 'multiget of 100', body: Buffer.from(`${ROOT}${HREF.repeat(100)}</C:calendar-multiget>`) },
  { name: 'multiget of 1 MiB', body: filled(HREF, MIB) },
  { name: 'references of 256 KiB', body: filled('&amp;', XML_BYTES_MAX) },
  { name: 'references of 1 MiB', body: filled('&amp;', MIB) },
  { name: 'comments of 256 KiB', body: filled(`<!--${'- '.repeat(1_000)}-->`, XML_BYTES_MAX) },
  { name: 'comments of 1 MiB', body: filled(`<!--${'- '.repeat(1_000)}-->`, MIB) },
  { name: 'line ends of 1 MiB', body: filled('\r\n', MIB) },
  { name: 'brackets of 1 MiB', body: filled(']]', MIB) },
  { name: 'nested too deep, 1 MiB', body: filled('<D:a>', MIB) },
];

/** CPU of this process, which the neighbours of a busy machine do not change. */
function cpuMillis(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function read(body: Buffer): Promise<number> {
  const start = cpuMillis();
  // A refusal is an answer, and costs too.
  await readXmlBody(body).catch(() => undefined);
  return cpuMillis() - start;
}

export const davXml: Bench = {
  name: 'dav-xml',
  say: 'CPU of reading one XML body of a DAV request: ordinary ones, and those that are as costly as they may be',
  async run(context: BenchContext) {
    const { recorder } = context;
    const rounds = bySize(context, { smoke: 1, default: 9, full: 25 });
    for (const { name, body } of CASES) {
      // oxlint-disable-next-line no-await-in-loop -- Cases must not run at the same time.
      await interleave(context, rounds, ['parley'], async (subject, round, isWarmUp) => {
        const values = { 'read ms': await read(body) };
        if (!isWarmUp) recorder.round({ case: name, subject, round, values });
      });
      recorder.bar(name, 'read ms', recorder.median(name, 'parley', 'read ms'), '≤', 50);
    }
  },
};
