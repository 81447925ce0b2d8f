/** What is done with several people at once: one request for each, and those that were refused are told by name. */
import { Button } from '@mantine/core';
import { useState } from 'react';
import { harmlessName } from '../../../kit/harmless-text.ts';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { confirmed } from '../../kit/work.tsx';
import type { ItemOf } from '../../session/console-api.ts';
import { useScreenContext, type ScreenContext } from '../../screen-context.ts';
import { sentenceOf, t, type Key } from '../../words/words.ts';

type User = ItemOf<'get /users'>;

export interface BulkActionsProps {
  readonly people: readonly User[];
  readonly done: () => void;
}

export function BulkActions({ done, people }: BulkActionsProps) {
  const context = useScreenContext();
  const [progress, setProgress] = useState<string>();
  const work = async (each: (user: string) => Promise<unknown>) => {
    const refused: string[] = [];
    for (const [at, { user }] of people.entries()) {
      setProgress(`${at + 1} / ${people.length}`);
      try {
        await each(user);
      } catch (error) {
        refused.push(`${user}: ${sentenceOf(error)}`);
      }
    }
    setProgress(undefined);
    if (refused.length === 0) context.notices.say('notice.done');
    else await showRefused(context, refused, people.length);
    done();
  };
  const block = async () => {
    const names = people.map(({ user }) => user).join(', ');
    const question = { title: 'people.block', text: t('bulk.block-asked', { names }), yes: 'people.block' } as const;
    if (!(await confirmed(context, question))) return;
    await work(async (username) => await context.call('post /users/:username/block', { parameters: { username } }));
  };
  const unblock = async () =>
    await work(async (username) => await context.call('post /users/:username/unblock', { parameters: { username } }));
  const button = (label: Key, act: () => Promise<void>) => (
    <Button
      size="xs"
      variant="default"
      aria-disabled={progress !== undefined || undefined}
      onClick={() => void (progress === undefined && act())}
    >
      {t(label)}
    </Button>
  );
  return (
    <>
      {button('people.block', block)}
      {button('people.unblock', unblock)}
      {button('bulk.group', async () => await takeIntoGroup(context, people, done))}
      <span role="status">{progress}</span>
    </>
  );
}

async function showRefused(context: ScreenContext, refused: readonly string[], all: number): Promise<void> {
  await context.dialogs.show({
    title: 'bulk.refused',
    content: () => (
      <>
        <p>{t('bulk.refused-of', { refused: refused.length, all })}</p>
        <ul>
          {refused.map((line) => (
            <li key={line}>{harmlessName(line)}</li>
          ))}
        </ul>
      </>
    ),
  });
}

async function takeIntoGroup(context: ScreenContext, people: readonly User[], done: () => void): Promise<void> {
  try {
    const { items } = await context.call('get /groups', {});
    await context.dialogs.show({
      title: 'bulk.group',
      content: (close) =>
        items.length === 0 ? (
          <p>{t('groups.empty')}</p>
        ) : (
          <FieldsForm
            fields={{
              group: {
                kind: 'choice',
                label: 'bulk.which-group',
                choices: items.map(({ id, name }) => ({ value: id, label: name })),
              },
            }}
            submit="bulk.group"
            send={async ({ group }) => {
              const body = { add: people.map(({ user }) => user) };
              await context.call('patch /groups/:group', { parameters: { group }, body });
              close();
              context.notices.say('notice.done');
              done();
            }}
          />
        ),
    });
  } catch (error) {
    context.notices.complain(error);
  }
}
