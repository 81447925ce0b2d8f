/** Links that set a password: how long they are taken, and for whom none is made (CRD-12). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PasswordResets } from '#src/directory/password-resets.ts';
import { ADDRESS, openConsole } from './console-fixture.ts';

const FORM = { password: 'heron over the quiet lake', end_app_passwords: false };
const BY = { actor: 'user:olga', address: ADDRESS };

test('CRD-12 a link is taken for a day and not a second longer, and one is made for nobody who left', async (context) => {
  const { accounts, add, clock, passwords } = await openConsole(context);
  const announcer = { revoked: async () => undefined };
  const resets = new PasswordResets({ accounts, announcer, clock, passwords, isElsewhere: () => false });
  await add('ann', null);
  await add('ben', null);
  const secretOf = async (username: string) => {
    const { path } = await resets.make(username, BY);
    return path.slice(path.lastIndexOf('/') + 1);
  };
  const [ofAnn, ofBen] = [await secretOf('ann'), await secretOf('ben')];
  clock.advance(86_399);
  await resets.use(ofAnn, FORM, ADDRESS);
  assert.ok(await passwords.verify(FORM.password, accounts.person('ann')?.passwordHash));
  clock.advance(1);
  await assert.rejects(resets.use(ofBen, FORM, ADDRESS), { code: 'reset_link_used' });
  assert.equal(await passwords.verify(FORM.password, accounts.person('ben')?.passwordHash), false);
  await accounts.change((draft) => {
    const person = draft.person('ben');
    if (person !== undefined) draft.putPerson({ ...person, state: 'left' });
  });
  await assert.rejects(resets.make('ben', BY), { code: 'person_left' });
});
