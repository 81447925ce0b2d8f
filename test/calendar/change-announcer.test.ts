/** Who is told of changes of a calendar that are gathered, and of which. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChangeAnnouncer } from '#src/calendar/change-announcer.ts';
import { until } from '#test/support/waiting.ts';

type Told = Parameters<ConstructorParameters<typeof ChangeAnnouncer>[0]['tell']>[0];
type Changed = Parameters<ChangeAnnouncer['changed']>[0];

/** What is told of changes, each by its number and those who saw the calendar before it. */
async function toldOf(changes: readonly (readonly [syncSeq: number, viewers: readonly string[]])[], after: string[]) {
  const told: Told[] = [];
  const announcer = new ChangeAnnouncer({ tell: (one) => void told.push(one), viewersOf: () => after });
  for (const [syncSeq, viewers] of changes) {
    announcer.changed({ id: 'cal', owner: 'olga', syncSeq } as Changed, viewers);
  }
  await until(() => told.length > 0, 'the changes to be told');
  return told.map(({ syncSeq, users }) => [syncSeq, users.toSorted()]);
}

test('who is shut out hears of the change that shut them out, and of none behind it', async () => {
  assert.deepEqual(
    await toldOf(
      [
        [7, ['ann', 'ben']],
        [8, []],
        [9, []],
      ],
      ['ben'],
    ),
    [
      [9, ['ben', 'olga']],
      [7, ['ann']],
    ],
  );
});

test('who was shut out and is let in again within the time hears of the newest alone', async () => {
  assert.deepEqual(
    await toldOf(
      [
        [7, ['ann']],
        [8, []],
      ],
      ['ann'],
    ),
    [[8, ['ann', 'olga']]],
  );
});

test('those who were shut out one after the other hear of a state each', async () => {
  assert.deepEqual(
    await toldOf(
      [
        [7, ['ann', 'ben']],
        [8, ['ben']],
      ],
      [],
    ),
    [
      [8, ['olga']],
      [7, ['ann']],
      [8, ['ben']],
    ],
  );
});
