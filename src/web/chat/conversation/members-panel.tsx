/** Who is in a room, with their roles and whether they are there; adding people, and what moderators do. */
import { ActionIcon, Alert, Badge, Button, Group, Menu, Stack, Text } from '@mantine/core';
import { Ellipsis, UserPlus } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ROLES, type Participant, type Role } from './roles.ts';
import { sentenceOf } from '../../kit/language.ts';
import { useObserved } from '../../kit/observable.ts';
import { useChat } from '../chat-context.ts';
import { UserAvatar } from '../people/conversation-avatar.tsx';
import { PeoplePicker } from '../people/people-picker.tsx';
import { dayOf } from '../conversation-words.ts';
import { useName } from '../state/people.ts';
import { useMay, useOpenConversation } from './open-conversation.ts';
import { EndOfStay, InviteGuest, useHostedGuests, useMayInviteGuests, WaitingGuests } from './room-guests.tsx';

interface Members {
  readonly items: readonly Participant[];
  readonly next: string | null;
}

function useMembers(): Members & { readonly more: () => void } {
  const { client } = useChat();
  const { complain, conv, conversation } = useOpenConversation();
  const [members, setMembers] = useState<Members>({ items: [], next: null });
  const read = async (before: readonly Participant[], after: string | null) => {
    const query = after === null ? {} : { after };
    const { items, next } = await client.call('readParticipants', { params: { id: conv }, query });
    setMembers({ items: [...before, ...items], next });
  };
  useEffect(() => {
    read([], null).catch(complain);
    // The record is another one whenever somebody comes, goes or has another role.
  }, [conv, conversation]);
  return { ...members, more: () => void read(members.items, members.next).catch(complain) };
}

export function MembersPanel() {
  const { t } = useTranslation();
  const { conversation } = useOpenConversation();
  const may = useMay();
  const { items, more, next } = useMembers();
  const isHost = useMayInviteGuests() && conversation.kind === 'room';
  const hosted = useHostedGuests(isHost);
  const stays = new Map(hosted.items.flatMap((one) => (one.state === 'active' ? [[one.user, one.guest_until]] : [])));
  return (
    <Stack gap="xs" p="sm" className="parley-beside-body">
      {may('participant.add') && <AddPeople without={items.map(({ user }) => user)} />}
      {isHost && may('participant.add') && <InviteGuest onInvited={hosted.refresh} />}
      <WaitingGuests hosted={hosted} />
      <Stack gap={2} component="ul" className="parley-plain-list" aria-label={t('members.title')}>
        {items.map((member) => (
          <Member key={member.user} member={member} staysUntil={stays.get(member.user)} onStayEnded={hosted.refresh} />
        ))}
      </Stack>
      {next !== null && (
        <Button variant="default" onClick={more}>
          {t('browse.more')}
        </Button>
      )}
    </Stack>
  );
}

function AddPeople({ without }: { readonly without: readonly string[] }) {
  const { t } = useTranslation();
  const { client, people } = useChat();
  const { conv } = useOpenConversation();
  const [isOpen, setOpen] = useState(false);
  const [said, setSaid] = useState<string>();
  const [refused, setRefused] = useState<string>();
  const add = async (user: string) => {
    setSaid(undefined);
    setRefused(undefined);
    try {
      const { invited = [] } = await client.call('addParticipants', {
        params: { id: conv },
        body: { participants: [user] },
      });
      setSaid(t(invited.includes(user) ? 'members.invited' : 'members.added', { name: people.nameOf(user) }));
    } catch (thrown) {
      setRefused(sentenceOf(thrown));
    }
  };
  return (
    <>
      <Button
        variant="default"
        leftSection={<UserPlus size={16} />}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {t('members.add')}
      </Button>
      {isOpen && <PeoplePicker without={without} refused={refused} onPick={({ user }) => void add(user)} />}
      {said !== undefined && (
        <Alert color="green" role="status" p="xs">
          {said}
        </Alert>
      )}
    </>
  );
}

interface MemberProps {
  readonly member: Participant;
  /** RFC 3339: when the term of a guest of one's own ends. */
  readonly staysUntil: string | undefined;
  readonly onStayEnded: () => void;
}

function Member({ member: { role, user }, onStayEnded, staysUntil }: MemberProps) {
  const { t } = useTranslation();
  const { me, people } = useChat();
  const name = useName(people, user);
  const presence = useObserved(people, () => people.presenceOf(user));
  return (
    <Group component="li" gap="xs" wrap="nowrap" className="parley-member">
      <UserAvatar user={user} name={name} size={32} />
      <div className="parley-person-words">
        <Text size="sm" truncate>
          <bdi>{name}</bdi>
        </Text>
        <Text size="xs" c="dimmed" truncate>
          {user} · {t(`presence.${presence}`)}
        </Text>
        {staysUntil !== undefined && (
          <Text size="xs" c="dimmed">
            {t('guests.stays', { day: dayOf(Date.parse(staysUntil)) })}
          </Text>
        )}
      </div>
      {role !== 'member' && (
        <Badge variant="default" size="sm">
          {t(`role.${role}`)}
        </Badge>
      )}
      {user !== me && (
        <MemberMenu
          user={user}
          name={name}
          role={role}
          isOwnGuest={staysUntil !== undefined}
          onStayEnded={onStayEnded}
        />
      )}
    </Group>
  );
}

interface MemberMenuProps extends Participant {
  readonly name: string;
  readonly isOwnGuest: boolean;
  readonly onStayEnded: () => void;
}

function MemberMenu({ isOwnGuest, name, onStayEnded, role, user }: MemberMenuProps) {
  const { t } = useTranslation();
  const { client } = useChat();
  const { complain, conv } = useOpenConversation();
  const may = useMay();
  const [isEnding, setEnding] = useState(false);
  const mayGive = may('role.change') && role !== 'guest';
  if (!may('participant.remove') && !mayGive && !isOwnGuest) return null;
  const params = { id: conv, username: user };
  const give = (next: Role) => void client.call('changeParticipant', { params, body: { role: next } }).catch(complain);
  return (
    <>
      <Menu withinPortal position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="subtle" color="gray" aria-label={t('members.more', { name })}>
            <Ellipsis size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {mayGive &&
            ROLES.filter((one) => one !== role && one !== 'guest').map((one) => (
              <Menu.Item key={one} onClick={() => give(one)}>
                {t('members.make', { role: t(`role.${one}`) })}
              </Menu.Item>
            ))}
          {may('participant.remove') && (
            <Menu.Item color="red" onClick={() => void client.call('removeParticipant', { params }).catch(complain)}>
              {t('members.remove')}
            </Menu.Item>
          )}
          {isOwnGuest && (
            <Menu.Item color="red" onClick={() => setEnding(true)}>
              {t('guests.end')}
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {isEnding && <EndOfStay user={user} name={name} onClose={() => setEnding(false)} onEnded={onStayEnded} />}
    </>
  );
}
