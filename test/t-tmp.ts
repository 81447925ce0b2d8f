const { Redactor } = await import('/work/wt/redaction/src/redaction/redactor.ts');
const r = new Redactor({ key: Buffer.alloc(32, 7) });
for (const l of process.argv.slice(2)) console.log(r.text(l.replaceAll('⏎', '\n')), JSON.stringify(r.explain(l.replaceAll('⏎', '\n')).map((s) => [s.class, s.start, s.end])));
