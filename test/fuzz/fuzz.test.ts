/** Some seconds of the fuzzer; `npm run fuzz` goes on for as long as one likes. SEED= has another run again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultOf } from './answers.ts';
import { runFuzz } from './campaign.ts';

const SEED = Number(process.env['SEED'] ?? 20_261_121);
const SECONDS = 5;

test(`ERR-01 damaged input gets an answer of the contract, and nobody else notices (SEED=${SEED})`, async () => {
  const { canaries, faults, shots } = await runFuzz({ seconds: SECONDS, seed: SEED });
  assert.deepEqual(faults, []);
  assert.ok(shots > 0 && canaries > 0);
});

test('an answer outside the contract is found', () => {
  assert.equal(faultOf({ status: 200, text: '' }), undefined);
  assert.equal(
    faultOf({ status: 401, text: '{"code":"token_missing","error":"The request carries no token."}' }),
    undefined,
  );
  assert.equal(
    faultOf({ status: 400, text: '{"code":"token_missing","error":"The request carries no token."}' }),
    'token_missing with 400',
  );
  assert.equal(
    faultOf({ status: 500, text: '{"code":"internal","error":"Something failed inside the server."}' }),
    'internal',
  );
  assert.equal(faultOf({ status: 400, text: '{"code":"made_up","error":"x"}' }), 'the unknown code made_up');
  assert.equal(faultOf({ status: 502, text: '<html>' }), 'a refusal with 502 that is not JSON: <html>');
});
