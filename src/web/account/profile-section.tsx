/** What others see of the person: name, picture, status. What the organisation keeps is shown and cannot be changed. */
import { Button, FileButton, Group, Skeleton, Stack, Text, TextInput } from '@mantine/core';
import { Smile } from 'lucide-react';
import { useEffect, useState, type SubmitEvent } from 'react';
import { useTranslation } from 'react-i18next';
import type { OwnProfile } from '#src/protocol/account/profile.ts';
import { useChat } from '../chat/chat-context.ts';
import { EmojiButton } from '../chat/emoji/emoji-button.tsx';
import { UserAvatar } from '../chat/people/conversation-avatar.tsx';
import { harmlessName } from '../kit/harmless-text.ts';
import { sentenceOf } from '../kit/language.ts';
import { EmailSection } from './email-section.tsx';
import { FormAnswer, type Answer } from './form-answer.tsx';

/** What the server opens. */
const PICTURES = 'image/jpeg,image/png,image/webp,image/gif,image/avif';

export function ProfileSection() {
  const { client } = useChat();
  const [profile, setProfile] = useState<OwnProfile>();
  const [answer, setAnswer] = useState<Answer>();
  const [round, setRound] = useState(0);
  useEffect(() => {
    client.account.call('readOwnProfile').then(setProfile, (thrown: unknown) => {
      setAnswer({ text: sentenceOf(thrown), isDone: false });
    });
  }, [client, round]);
  return (
    <Stack>
      {profile === undefined ? (
        <Skeleton height={180} />
      ) : (
        <>
          <PictureLine profile={profile} onAnswer={setAnswer} onChanged={() => setRound(round + 1)} />
          <ProfileForm key={profile.rev} profile={profile} onAnswer={setAnswer} onChanged={setProfile} />
          {profile.email !== undefined && (
            <EmailSection
              email={profile.email}
              isConfirmed={profile.email_confirmed === true}
              onConfirmed={() => setProfile({ ...profile, email_confirmed: true })}
            />
          )}
        </>
      )}
      <FormAnswer answer={answer} />
    </Stack>
  );
}

interface PictureLineProps {
  readonly profile: OwnProfile;
  readonly onAnswer: (answer: Answer) => void;
  readonly onChanged: () => void;
}

function PictureLine({ profile, onAnswer, onChanged }: PictureLineProps) {
  const { t } = useTranslation();
  const { client } = useChat();
  const mayChange = profile.may_change.includes('avatar');
  const told = (done: Promise<unknown>) => {
    done.then(
      () => {
        onAnswer({ text: t('app.saved'), isDone: true });
        onChanged();
      },
      (thrown: unknown) => onAnswer({ text: sentenceOf(thrown), isDone: false }),
    );
  };
  return (
    <Group>
      <UserAvatar user={profile.user} name={profile.display_name ?? profile.user} size={72} hasPresence={false} />
      {mayChange && (
        <FileButton accept={PICTURES} onChange={(file) => file !== null && told(client.account.putAvatar(file))}>
          {(props) => (
            <Button {...props} variant="default">
              {t('profile.picture')}
            </Button>
          )}
        </FileButton>
      )}
      {mayChange && profile.avatar !== undefined && (
        <Button variant="subtle" color="gray" onClick={() => told(client.account.removeAvatar())}>
          {t('profile.noPicture')}
        </Button>
      )}
    </Group>
  );
}

interface ProfileFormProps {
  readonly profile: OwnProfile;
  readonly onAnswer: (answer: Answer) => void;
  readonly onChanged: (profile: OwnProfile) => void;
}

function ProfileForm({ profile, onAnswer, onChanged }: ProfileFormProps) {
  const { t } = useTranslation();
  const { client } = useChat();
  const [name, setName] = useState(profile.display_name ?? '');
  const [text, setText] = useState(profile.status?.text ?? '');
  const [emoji, setEmoji] = useState(profile.status?.emoji ?? '');
  const mayName = profile.may_change.includes('display_name');
  const mayStatus = profile.may_change.includes('status');
  const save = async (event: SubmitEvent) => {
    event.preventDefault();
    // What is pasted may bring marks that nobody sees, which the server refuses; they are nothing that was written.
    const [named, stated] = [harmlessName(name, ''), harmlessName(text, '')];
    const said = { ...(stated === '' ? {} : { text: stated }), ...(emoji === '' ? {} : { emoji }) };
    const status = Object.keys(said).length === 0 ? null : said;
    const body = {
      ...(mayName ? { display_name: named === '' ? null : named } : {}),
      ...(mayStatus ? { status } : {}),
    };
    try {
      onChanged(await client.account.call('changeOwnProfile', { body }));
      onAnswer({ text: t('app.saved'), isDone: true });
    } catch (thrown) {
      onAnswer({ text: sentenceOf(thrown), isDone: false });
    }
  };
  return (
    <Stack component="form" onSubmit={(event) => void save(event)} gap="sm">
      <Text size="sm" c="dimmed">
        {t('profile.username', { user: profile.user })}
      </Text>
      <TextInput
        label={t('profile.name')}
        value={name}
        readOnly={!mayName}
        maxLength={100}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      {mayStatus && (
        <Group align="flex-end" wrap="nowrap" gap="xs">
          <TextInput
            flex={1}
            label={t('profile.status')}
            value={text}
            maxLength={100}
            leftSection={emoji === '' ? null : emoji}
            onChange={(event) => setText(event.currentTarget.value)}
          />
          <EmojiButton label={t('profile.statusEmoji')} size="lg" onPick={setEmoji}>
            {emoji === '' ? <Smile size={18} /> : emoji}
          </EmojiButton>
          <Button variant="subtle" color="gray" onClick={() => (setText(''), setEmoji(''))}>
            {t('profile.noStatus')}
          </Button>
        </Group>
      )}
      <Button type="submit" disabled={!mayName && !mayStatus}>
        {t('app.save')}
      </Button>
    </Stack>
  );
}
