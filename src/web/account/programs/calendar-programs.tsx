/** Passwords for calendar programs (CRD-05): making one, which is shown once, how a program is set up with it, and ending it. */
import { Button, Group, List, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { useEffect, useState, type SubmitEvent } from 'react';
import { useTranslation } from 'react-i18next';
import type { AppPasswordView } from '#src/protocol/sessions/app-passwords.ts';
import { useChat } from '../../chat/chat-context.ts';
import { momentOf } from '../../chat/conversation-words.ts';
import { ConfirmDialog } from '../../kit/confirm-dialog.tsx';
import { CopyField } from '../../kit/copy-field.tsx';
import { harmlessName } from '../../kit/harmless-text.ts';
import { sentenceOf } from '../../kit/language.ts';
import { FormAnswer, type Answer } from '../form-answer.tsx';
import { ProgramGuide } from './program-guide.tsx';

/** What a name may have; the server's own limit. */
const NAME_LENGTH_MAX = 64;

interface MadePassword {
  readonly id: string;
  readonly name: string;
  readonly password: string;
}

export function CalendarPrograms() {
  const { t } = useTranslation();
  const { client } = useChat();
  const [passwords, setPasswords] = useState<readonly AppPasswordView[]>();
  const [made, setMade] = useState<MadePassword>();
  const [answer, setAnswer] = useState<Answer>();
  const fail = (thrown: unknown) => setAnswer({ text: sentenceOf(thrown), isDone: false });
  const read = () => client.account.call('listAppPasswords').then(({ items }) => setPasswords(items), fail);
  useEffect(() => void read(), [client]);
  const make = async (name: string) => {
    try {
      setMade(await client.account.call('createAppPassword', { body: { name } }));
      setAnswer(undefined);
      await read();
      return true;
    } catch (thrown) {
      fail(thrown);
      return false;
    }
  };
  const end = async (password: string) => {
    try {
      await client.account.call('revokeAppPassword', { params: { password } });
      if (made?.id === password) setMade(undefined);
      setAnswer(undefined);
      await read();
    } catch (thrown) {
      fail(thrown);
    }
  };
  if (passwords === undefined && answer === undefined) return <Skeleton height={80} />;
  return (
    <Stack gap="md">
      <Text size="sm">{t('programs.why')}</Text>
      <Passwords passwords={passwords ?? []} onEnd={(password) => void end(password)} />
      <NewPassword onMake={make} />
      <FormAnswer answer={answer} />
      {made !== undefined && (
        <CopyField
          key={made.id}
          label={t('programs.password', { name: harmlessName(made.name, t('programs.unnamed')) })}
          description={t('programs.once')}
          copy={t('programs.copyPassword')}
          value={made.password}
        />
      )}
      <ProgramGuide />
    </Stack>
  );
}

function Passwords({
  onEnd,
  passwords,
}: {
  readonly passwords: readonly AppPasswordView[];
  readonly onEnd: (password: string) => void;
}) {
  const { t } = useTranslation();
  const [ending, setEnding] = useState<AppPasswordView>();
  if (passwords.length === 0) return null;
  return (
    <>
      <List aria-label={t('programs.passwords')} listStyleType="none" spacing="sm">
        {passwords.map((password) => (
          <List.Item key={password.id} styles={{ itemWrapper: { display: 'block' }, itemLabel: { display: 'block' } }}>
            <Group wrap="nowrap" justify="space-between">
              <div className="parley-person-words">
                <Text truncate>
                  <bdi>{harmlessName(password.name, t('programs.unnamed'))}</bdi>
                </Text>
                <Text size="xs" c="dimmed">
                  {password.last_used_at === undefined
                    ? t('programs.neverUsed', { at: momentOf(Date.parse(password.created_at)) })
                    : t('devices.lastUsed', { at: momentOf(Date.parse(password.last_used_at)) })}
                </Text>
              </div>
              <Button variant="default" size="compact-sm" onClick={() => setEnding(password)}>
                {t('programs.end')}
              </Button>
            </Group>
          </List.Item>
        ))}
      </List>
      <ConfirmDialog
        isOpen={ending !== undefined}
        title={t('programs.endTitle', { name: harmlessName(ending?.name ?? '', t('programs.unnamed')) })}
        words={t('programs.endWords')}
        action={t('programs.end')}
        onConfirm={() => ending !== undefined && onEnd(ending.id)}
        onClose={() => setEnding(undefined)}
      />
    </>
  );
}

function NewPassword({ onMake }: { readonly onMake: (name: string) => Promise<boolean> }) {
  const { t } = useTranslation();
  const [name, setName] = useState('');
  const make = async (event: SubmitEvent) => {
    event.preventDefault();
    if (await onMake(name.trim())) setName('');
  };
  return (
    <form onSubmit={(event) => void make(event)}>
      <Group align="end">
        <TextInput
          flex="1 1 200px"
          label={t('programs.name')}
          placeholder={t('programs.nameExample')}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          maxLength={NAME_LENGTH_MAX}
        />
        <Button type="submit" disabled={name.trim() === ''}>
          {t('programs.make')}
        </Button>
      </Group>
    </form>
  );
}
