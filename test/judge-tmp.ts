import { readFileSync, readdirSync } from 'node:fs';
const root = process.argv[2] === "." || process.argv[2] === undefined ? "/work/wt/redaction" : process.argv[2];
const seeds = (process.argv[3] ?? '1,2,3').split(',').map(Number);
const count = Number(process.argv[4] ?? 8000);
const show = process.argv[5] ?? '';
const J = '/work/wt/redaction/test/redaction/corpus/';
const { Redactor } = await import(root + '/src/redaction/redactor.ts');
const { SeededRandom } = await import('/work/wt/redaction/test/support/random.ts');
const { unseenRecord, stayingRecord } = await import(J + 'unseen-log.ts');
const { judge, recall } = await import(J + 'judgement.ts');
const { KEY, SPAN_CLASSES } = await import(J + 'labels.ts');
const engine = new Redactor({ key: KEY });
const redact = (t) => engine.text(t);
const total = {}; let leaks = [], strangers = [], spoilt = [], changed = [], twice = 0, kept = 0, lost = [];
for (const seed of seeds) {
  const random = new SeededRandom(seed);
  const records = Array.from({ length: count }, () => unseenRecord(random));
  const found = judge(redact, records);
  for (const c of SPAN_CLASSES) { const t = (total[c] ??= { spans: 0, leaks: 0, named: 0, agreed: 0 }); for (const k in t) t[k] += found.classes[c][k]; }
  leaks.push(...found.leaks); strangers.push(...found.strangers); spoilt.push(...found.spoilt);
  for (const r of records) { const one = redact(r.text); if (redact(one) !== one) { twice++; changed.push(r.text + ' → ' + one + ' → ' + redact(one)); }
    }
  for (let i = 0; i < count / 2; i++) { const s = stayingRecord(random); const out = redact(s.text); if (out === s.text) kept++; else lost.push(s.text + ' → ' + out); }
}
let all = 0, bad = 0;
for (const c of SPAN_CLASSES) { all += total[c].spans; bad += total[c].leaks; console.log(c.padEnd(16), total[c].spans, total[c].leaks, (100 * recall(total[c])).toFixed(2), `${total[c].agreed}/${total[c].named}`); }
console.log('all', (100 * (1 - bad / all)).toFixed(3), 'stay', (100 * kept / (kept + lost.length)).toFixed(2), 'twice', twice, 'spoilt', spoilt.length, 'strangers', strangers.length);
const pick = (l) => { const m = new Map(); for (const x of l) { const k = x.split(' | ').slice(0, 3).join('|').slice(0, 80); if (!m.has(k)) m.set(k, x); } return [...m.values()]; };
if (show.includes('l')) for (const x of pick(leaks).slice(0, 60)) console.log('LEAK', x.slice(0, 420));
if (show.includes('s')) for (const x of pick(strangers).slice(0, 40)) console.log('STR', x.slice(0, 420));
if (show.includes('t')) for (const x of changed.slice(0, 20)) console.log('TWICE', x.slice(0, 600));
if (show.includes('k')) for (const x of lost.slice(0, 40)) console.log('LOST', x.slice(0, 300));
if (show.includes('p')) for (const x of spoilt.slice(0, 20)) console.log('SPOILT', x.slice(0, 400));
// loghub
const L = '/work/shared/data/loghub/'; let rawIp = 0, ph = 0, us = {}, rnd = 0;
for (const f of readdirSync(L)) {
  const text = readFileSync(L + f, 'latin1'); const out = engine.bytes(Buffer.from(text, 'latin1')).toString('latin1');
  const raw = [...out.matchAll(/(?<![\w.~-])(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?![\w]|\.\d)/g)].filter((m) => m.slice(1).every((o) => Number(o) < 256) && m[0] !== '127.0.0.1' && m[0] !== '0.0.0.0');
  rawIp += raw.length; ph += (out.match(/tel-[0-9a-f]{8}/g) ?? []).length; us[f] = (out.match(/u-[0-9a-f]{8}/g) ?? []).length; rnd += (out.match(/\[REDACTED:random\]/g) ?? []).length;
  const red = (out.match(/\[REDACTED:(?!random)[a-z-]+\]/g) ?? []); 
  if (show.includes('h')) { const a = text.split('\n'), b = out.split('\n'); let n = 0; for (let i = 0; i < a.length && n < 12; i++) if (a[i] !== b[i] && (/\[REDACTED|tel-/.test(b[i]) || (/u-[0-9a-f]{8}/.test(b[i]) && !/SSH|Linux/.test(f)))) { n++; console.log(f, b[i].slice(0, 300)); } }
  if (show.includes('r')) for (const m of raw.slice(0, 3)) console.log('RAW', f, out.slice(Math.max(0, m.index - 60), m.index + 40).replace(/\n/g, '⏎'));
  if (red.length) console.log(f, 'secrets', red.length, [...new Set(red)].join(' '));
}
console.log('loghub raw', rawIp, 'phones', ph, 'random', rnd, JSON.stringify(Object.fromEntries(Object.entries(us).filter(([, n]) => n > 0))));
