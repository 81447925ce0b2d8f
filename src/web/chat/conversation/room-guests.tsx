/** Guests whom one invites into a room by their number: the form and its link, invitations that wait, and the end of a stay (GST-01). */
import { ActionIcon, Alert, Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { DoorOpen, X } from 'lucide-react';
import { useCallback, useEffect, useState, type SubmitEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { ParleyError } from '#src/client/parley-error.ts';
import type { HostedGuest } from '#src/protocol/directory/guests.ts';
import { ConfirmDialog } from '../../kit/confirm-dialog.tsx';
import { CopyField } from '../../kit/copy-field.tsx';
import { harmlessName } from '../../kit/harmless-text.ts';
import { sentenceOf, type Words } from '../../kit/language.ts';
import { useChat } from '../chat-context.ts';
import { dayOf } from '../conversation-words.ts';
import { useOpenConversation } from './open-conversation.ts';

const DAY_MILLIS = 86_400_000;
/** What the term begins with: whoever comes for longer is given another day. */
const TERM_DAYS = 7;

export interface HostedGuests {
  readonly items: readonly HostedGuest[];
  readonly refresh: () => void;
}

/** The guests of one's own and invitations that wait, asked again whenever somebody comes or goes. */
export function useHostedGuests(isHost: boolean): HostedGuests {
  const { client } = useChat();
  const { complain, conversation } = useOpenConversation();
  const [items, setItems] = useState<readonly HostedGuest[]>([]);
  const refresh = useCallback(() => {
    if (!isHost) return;
    client.account.call('listHostedGuests').then((reply) => setItems(reply.items), complain);
  }, [client, complain, isHost]);
  useEffect(refresh, [conversation, refresh]);
  return { items, refresh };
}

/** Whether the installation lets the person invite guests, as it changes. */
export function useMayInviteGuests(): boolean {
  const { client } = useChat();
  const [may, setMay] = useState(false);
  useEffect(() => {
    let isOver = false;
    const take = (rights: Awaited<ReturnType<typeof client.capabilities>>) => {
      if (!isOver) setMay(rights.known && rights.granted.has('guest.invite'));
    };
    // Not offered where it cannot be said.
    client.capabilities().then(take, () => undefined);
    const off = client.on('rights', ({ rights }) => take(rights));
    return () => {
      isOver = true;
      off();
    };
  }, [client]);
  return may;
}

export function InviteGuest({ onInvited }: { readonly onInvited: () => void }) {
  const { t } = useTranslation();
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button
        variant="default"
        leftSection={<DoorOpen size={16} />}
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {t('guests.invite')}
      </Button>
      {isOpen && <InviteForm onInvited={onInvited} />}
    </>
  );
}

interface NewGuest {
  readonly phone: string;
  readonly name: string;
  /** A day of the calendar, as the field holds it. */
  readonly until: string;
}

interface Refused {
  /** The field that is to blame. */
  readonly field?: string | undefined;
  readonly words: string;
}

function newGuest(): NewGuest {
  return { phone: '', name: '', until: dayIn(TERM_DAYS) };
}

function InviteForm({ onInvited }: { readonly onInvited: () => void }) {
  const { t } = useTranslation();
  const { client } = useChat();
  const { conv } = useOpenConversation();
  const [guest, setGuest] = useState(newGuest);
  const [refused, setRefused] = useState<Refused>();
  const [isBusy, setBusy] = useState(false);
  const [link, setLink] = useState<string>();
  const invite = async () => {
    setRefused(undefined);
    setBusy(true);
    try {
      const called = guest.name.trim();
      const body = {
        phone: guest.phone.replaceAll(/[\s()-]/g, ''),
        // The day itself is the last one.
        guest_until: new Date(`${guest.until}T23:59:59`).toISOString(),
        conversation_id: conv,
        ...(called === '' ? {} : { display_name: called }),
      };
      setLink((await client.account.call('inviteGuest', { body })).url);
      onInvited();
    } catch (thrown) {
      setRefused(refusalOf(thrown, t));
    } finally {
      setBusy(false);
    }
  };
  if (link !== undefined)
    return (
      <GuestLink link={link} onMore={() => (setLink(undefined), setGuest({ ...newGuest(), until: guest.until }))} />
    );
  return (
    <Stack
      component="form"
      gap="xs"
      aria-label={t('guests.invite')}
      onSubmit={(event: SubmitEvent) => (event.preventDefault(), void invite())}
    >
      <GuestFields guest={guest} refused={refused} onChange={setGuest} />
      {refused !== undefined && refused.field === undefined && (
        <Alert color="red" role="alert" p="xs">
          {refused.words}
        </Alert>
      )}
      <Button type="submit" loading={isBusy}>
        {t('guests.make')}
      </Button>
    </Stack>
  );
}

interface GuestFieldsProps {
  readonly guest: NewGuest;
  readonly refused: Refused | undefined;
  readonly onChange: (guest: NewGuest) => void;
}

function GuestFields({ guest, onChange, refused }: GuestFieldsProps) {
  const { t } = useTranslation();
  const errorOf = (field: string) => (refused?.field === field ? refused.words : undefined);
  return (
    <>
      <TextInput
        type="tel"
        label={t('guests.phone')}
        description={t('forgotten.phoneForm')}
        value={guest.phone}
        onChange={(event) => onChange({ ...guest, phone: event.currentTarget.value })}
        error={errorOf('phone')}
        required
        withAsterisk={false}
        data-autofocus
        maxLength={40}
        autoComplete="off"
      />
      <TextInput
        label={t('guests.name')}
        value={guest.name}
        onChange={(event) => onChange({ ...guest, name: event.currentTarget.value })}
        error={errorOf('display_name')}
        maxLength={128}
        autoComplete="off"
      />
      <TextInput
        type="date"
        label={t('guests.until')}
        description={t('guests.untilWhat')}
        value={guest.until}
        min={dayIn(0)}
        onChange={(event) => onChange({ ...guest, until: event.currentTarget.value })}
        error={errorOf('guest_until')}
        required
        withAsterisk={false}
      />
    </>
  );
}

/** What a person reads who was refused, beside the field that is to blame. */
function refusalOf(thrown: unknown, t: Words): Refused {
  const field = thrown instanceof ParleyError && thrown.code === 'field_invalid' ? thrown.field : undefined;
  if (field === 'phone') return { field, words: t('guests.phoneWrong') };
  if (field === 'guest_until') return { field, words: t('guests.untilWrong') };
  return { field, words: sentenceOf(thrown) };
}

/** The link is in the answer alone: who loses it takes the invitation back and makes another. */
function GuestLink({ link, onMore }: { readonly link: string; readonly onMore: () => void }) {
  const { t } = useTranslation();
  return (
    <Stack gap="xs">
      <CopyField label={t('guests.link')} description={t('guests.linkOnce')} value={link} />
      <Button variant="default" onClick={onMore}>
        {t('guests.another')}
      </Button>
    </Stack>
  );
}

/** Whom one has invited into this room and who has not come yet. */
export function WaitingGuests({ hosted: { items, refresh } }: { readonly hosted: HostedGuests }) {
  const { t } = useTranslation();
  const { client } = useChat();
  const { complain, conv } = useOpenConversation();
  const waiting = items.flatMap((one) => (one.state === 'invited' && one.conversation_id === conv ? [one] : []));
  if (waiting.length === 0) return null;
  const takeBack = (invited: string) =>
    void client.account.call('withdrawGuest', { params: { invited } }).then(refresh, complain);
  return (
    <Stack gap={2} component="ul" className="parley-plain-list" aria-label={t('guests.waiting')}>
      {waiting.map(({ display_name: name, guest_until: until, id, phone }) => (
        <Group key={id} component="li" gap="xs" wrap="nowrap" className="parley-member">
          <div className="parley-person-words">
            <Text size="sm" truncate>
              <bdi>{name === undefined ? phone : harmlessName(name, phone)}</bdi>
            </Text>
            <Text size="xs" c="dimmed">
              {t('guests.waits', { day: dayOf(Date.parse(until)) })}
            </Text>
          </div>
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={t('guests.takeBack', { phone })}
            onClick={() => takeBack(id)}
          >
            <X size={16} />
          </ActionIcon>
        </Group>
      ))}
    </Stack>
  );
}

export interface EndOfStayProps {
  readonly user: string;
  readonly name: string;
  readonly onClose: () => void;
  readonly onEnded: () => void;
}

/** Asks before a guest of one's own is signed out for good. */
export function EndOfStay({ name, onClose, onEnded, user }: EndOfStayProps) {
  const { t } = useTranslation();
  const { client } = useChat();
  const { complain } = useOpenConversation();
  const end = () => {
    client.account.call('endHostedGuest', { params: { username: user } }).then(onEnded, complain);
  };
  return (
    <ConfirmDialog
      isOpen
      title={t('guests.endTitle', { name })}
      words={t('guests.endWhat')}
      action={t('guests.end')}
      onConfirm={end}
      onClose={onClose}
    />
  );
}

/** A day of the calendar that people here go by, as a field for days holds it. */
function dayIn(days: number): string {
  const at = new Date(Date.now() + days * DAY_MILLIS);
  const two = (number: number) => String(number).padStart(2, '0');
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}
