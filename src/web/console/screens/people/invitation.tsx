/** Inviting people, guests, administrators and owners: a form, and its link, shown once (CRD-07). */
import { useState } from 'react';
import { When } from '../../kit/facts.tsx';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { ShownOnce } from '../../kit/shown-once.tsx';
import type { ReplyOf } from '../../session/console-api.ts';
import type { ScreenContext } from '../../screen-context.ts';
import { given, instantOf, localTime } from '../../words/formats.ts';
import { t, word } from '../../words/words.ts';

const KINDS = ['person', 'guest', 'admin', 'owner'] as const;
type Kind = (typeof KINDS)[number];

/** The term that a guest is offered at first. */
const GUEST_DAYS = 30;
const DAY_MILLIS = 24 * 3_600_000;

/** Opens the form over the screen. Those that open the console are offered to whoever may manage access. */
export function invite(context: ScreenContext, wanted: Kind = 'person'): void {
  void context.dialogs.show({
    title: 'people.invite',
    content: (close) => <Invitation context={context} wanted={wanted} close={close} />,
  });
}

interface InvitationProps {
  readonly context: ScreenContext;
  readonly wanted: Kind;
  readonly close: () => void;
}

function Invitation({ close, context, wanted }: InvitationProps) {
  const [made, setMade] = useState<ReplyOf<'post /enroll'>>();
  if (made !== undefined) {
    return (
      <ShownOnce
        hint="invitation.hint"
        secret={made.url}
        onKept={close}
        more={
          <p>
            {t('invitation.until')} <When at={made.expires_at} />
          </p>
        }
      />
    );
  }
  const kinds = KINDS.filter((kind) => (kind !== 'admin' && kind !== 'owner') || context.may('access:write'));
  const isOf =
    (...of: Kind[]) =>
    ({ kind = '' }: Readonly<Record<string, string>>) =>
      of.includes(kind as Kind);
  return (
    <FieldsForm
      fields={{
        kind: {
          kind: 'choice',
          label: 'people.kind',
          value: wanted,
          choices: kinds.map((value) => ({ value, label: word('kind', value) })),
        },
        display_name: { label: 'people.name', maxLength: 100, isShown: isOf('person', 'guest') },
        phone: {
          label: 'people.phone',
          hint: 'people.phone-hint',
          type: 'tel',
          maxLength: 16,
          isShown: isOf('person', 'guest'),
        },
        guest_until: {
          label: 'guests.until',
          type: 'datetime-local',
          value: localTime(Date.now() + GUEST_DAYS * DAY_MILLIS),
          isShown: isOf('guest'),
        },
        email: { label: 'people.email', type: 'email', maxLength: 254, isShown: isOf('person') },
        title: { label: 'people.job', maxLength: 100, isShown: isOf('person') },
      }}
      submit="invitation.make"
      send={async (values) =>
        setMade(await context.call('post /enroll', { body: invitationOf(values.kind as Kind, values) }))
      }
    />
  );
}

export type InvitationTexts = Readonly<
  Record<'display_name' | 'phone' | 'guest_until' | 'email' | 'title', string | undefined>
>;

/** The body of the request, of what was typed: what was left empty is left out. */
export function invitationOf(kind: Kind, texts: InvitationTexts) {
  if (kind === 'admin' || kind === 'owner') return { kind };
  const [name, phone, email, title] = (['display_name', 'phone', 'email', 'title'] as const).map((field) =>
    given(texts[field] ?? ''),
  );
  const display = name === undefined ? {} : { display_name: name };
  if (kind === 'guest') {
    return { kind, phone: phone ?? '', guest_until: instantOf(texts.guest_until) ?? '', ...display };
  }
  return {
    kind,
    ...display,
    ...(phone === undefined ? {} : { phone }),
    ...(email === undefined ? {} : { email }),
    ...(title === undefined ? {} : { title }),
  };
}
