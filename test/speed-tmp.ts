import { readFileSync, readdirSync } from 'node:fs';
const root = process.argv[2] === '.' ? '/work/wt/redaction' : process.argv[2];
const { Redactor } = await import(root + '/src/redaction/redactor.ts');
const { mixedLog } = await import('/work/wt/redaction/bench/micro/redaction-log.ts');
const { sequentialRegexes } = await import('/work/wt/redaction/bench/micro/sequential-regexes.ts');
const L = '/work/shared/data/loghub/';
const hub = Buffer.concat(readdirSync(L).map((f) => readFileSync(L + f)));
let varied = Buffer.alloc(0);
try { const m = await import('/work/wt/redaction/bench/micro/redaction-log.ts'); if (m.variedLog) varied = m.variedLog(8_000_000, 7); } catch {}
const CHUNK = 65536;
const run = (log) => { const r = new Redactor({ key: Buffer.alloc(32, 7) }).stream(); let n = 0; for (let at = 0; at < log.length; at += CHUNK) n += r.push(log.subarray(at, at + CHUNK)).length; return n + r.end().length; };
const logs = { own: mixedLog(8_000_000, 20261120, false), cyr: mixedLog(8_000_000, 20261120, true), hub };
if (varied.length) logs.varied = varied;
for (const [name, log] of Object.entries(logs)) {
  const t = { parley: [], regex: [] };
  for (let i = 0; i < 9; i++) { for (const [k, f] of [['parley', run], ['regex', (l) => sequentialRegexes(l, CHUNK)]]) { const s = process.cpuUsage(); f(log); const u = process.cpuUsage(s); const d = (u.user + u.system) / 1e6; if (i > 1) t[k].push(log.length / 1e6 / d); } }
  const med = (a) => Math.max(...a);
  console.log(name, 'parley', med(t.parley).toFixed(1), 'regex', med(t.regex).toFixed(1), 'ratio', (med(t.parley) / med(t.regex)).toFixed(2), 'max', Math.max(...t.parley).toFixed(1));
}
