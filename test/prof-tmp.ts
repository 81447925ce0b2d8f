import { readFileSync, readdirSync } from 'node:fs';
const { Redactor } = await import('/work/wt/redaction/src/redaction/redactor.ts');
const { mixedLog } = await import('/work/wt/redaction/bench/micro/redaction-log.ts');
const L = '/work/shared/data/loghub/';
const log = process.argv[2] === 'hub' ? Buffer.concat(readdirSync(L).map((f) => readFileSync(L + f))) : process.argv[2] === 'var' ? (await import('/work/wt/redaction/bench/micro/redaction-log.ts')).variedLog(4_000_000, 7) : mixedLog(8_000_000, 20261120, false);
for (let i = 0; i < 20; i++) { const r = new Redactor({ key: Buffer.alloc(32, 7) }).stream(); for (let at = 0; at < log.length; at += 65536) r.push(log.subarray(at, at + 65536)); r.end(); }
