/** Inviting people, guests, administrators and owners: a form, and its link, shown once (CRD-07). */
import { showDialog } from '../../dialog.ts';
import { element, fill } from '../../elements.ts';
import { form, input, select, type Field } from '../../form.ts';
import { t, when, word } from '../../language.ts';
import { shownOnce } from '../../shown-once.ts';
import type { ScreenContext } from '../../screen-context.ts';
import { instantOf } from '../audit.ts';

const KINDS = ['person', 'guest', 'admin', 'owner'] as const;
type Kind = (typeof KINDS)[number];

/** The term that a guest is offered at first. */
const GUEST_DAYS = 30;
const DAY_MILLIS = 24 * 3_600_000;

/** Opens the form over the screen. Those that open the console are offered to whoever may manage access. */
export function invite(stage: ScreenContext, wanted: Kind = 'person'): void {
  const kinds = KINDS.filter((kind) => (kind !== 'admin' && kind !== 'owner') || stage.may('access:write'));
  const kind = select({
    label: 'people.kind',
    name: 'kind',
    value: wanted,
    choices: kinds.map((value) => ({ value, label: word('kind', value) })),
  });
  const name = input({ label: 'people.name', name: 'display_name', attributes: { maxlength: 100 } });
  const phone = input({
    label: 'people.phone',
    name: 'phone',
    hint: 'people.phone-hint',
    attributes: { type: 'tel', maxlength: 16 },
  });
  const until = input({
    label: 'guests.until',
    name: 'guest_until',
    attributes: { type: 'datetime-local', value: localTime(Date.now() + GUEST_DAYS * DAY_MILLIS) },
  });
  const email = input({ label: 'people.email', name: 'email', attributes: { type: 'email', maxlength: 254 } });
  const title = input({ label: 'people.job', name: 'title', attributes: { maxlength: 100 } });
  const shownFor: readonly [Field, readonly Kind[]][] = [
    [name, ['person', 'guest']],
    [phone, ['person', 'guest']],
    [until, ['guest']],
    [email, ['person']],
    [title, ['person']],
  ];
  const arrange = () => {
    for (const [field, of] of shownFor) field.element.hidden = !of.includes(kind.value as Kind);
  };
  kind.onChange(arrange);
  arrange();
  const place = element('div');
  const send = async () => {
    const made = await stage.call('post /enroll', {
      body: bodyOf(kind.value as Kind, { name, phone, until, email, title }),
    });
    fill(
      place,
      shownOnce({ title: 'invitation.made', hint: 'invitation.hint', secret: made.url }),
      element('p', {}, t('invitation.until'), ' ', when(made.expires_at)),
    );
  };
  fill(place, form({ submit: 'invitation.make', parts: [kind, ...shownFor.map(([field]) => field)], send }));
  showDialog('people.invite', place);
}

type Fields = Readonly<Record<'name' | 'phone' | 'until' | 'email' | 'title', Field>>;

function bodyOf(kind: Kind, { name, phone, until, email, title }: Fields) {
  if (kind === 'admin' || kind === 'owner') return { kind };
  const display = name.text === undefined ? {} : { display_name: name.text };
  if (kind === 'guest')
    return { kind, phone: phone.value.trim(), guest_until: instantOf(until.value) ?? '', ...display };
  return {
    kind,
    ...display,
    ...(phone.text === undefined ? {} : { phone: phone.text }),
    ...(email.text === undefined ? {} : { email: email.text }),
    ...(title.text === undefined ? {} : { title: title.text }),
  };
}

/** An instant as a field for date and time holds it, in the reader's zone. */
export function localTime(millis: number): string {
  const date = new Date(millis);
  return new Date(millis - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
