/** A labelled control, its hint and its error, as a form describes it. */
import { Checkbox, FileInput, NativeSelect, Stack, Textarea, TextInput } from '@mantine/core';
import { useId, useState } from 'react';
import { harmlessName } from '../../kit/harmless-text.ts';
import { useScreenContext } from '../screen-context.ts';
import { t } from '../words/words.ts';
import type { FieldSpec, LineField } from './field-specs.ts';

export type ControlValue = string | readonly string[] | File | undefined;

export interface ControlProps {
  readonly name: string;
  readonly spec: FieldSpec;
  readonly value: ControlValue;
  readonly error?: string | undefined;
  readonly onChange: (value: ControlValue) => void;
}

export function Control({ error, name, onChange, spec, value }: ControlProps) {
  const common = {
    name,
    label: typeof spec.label === 'string' ? t(spec.label) : spec.label.raw,
    description: spec.hint === undefined ? undefined : t(spec.hint),
    error,
    required: spec.isRequired === true,
    withAsterisk: false,
    inputWrapperOrder: ['label', 'input', 'description', 'error'] as ('label' | 'input' | 'description' | 'error')[],
  };
  switch (spec.kind) {
    case 'choice':
      return (
        <NativeSelect
          {...common}
          data={spec.choices.map(({ label, value: each }) => ({ value: each, label: harmlessName(label) }))}
          value={value as string}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      );
    case 'ticks':
      return <Ticks name={name} spec={spec} ticked={value as readonly string[]} onChange={onChange} />;
    case 'file':
      return (
        <FileInput
          {...common}
          accept={spec.accept}
          value={(value as File | undefined) ?? null}
          placeholder={t('form.choose-file')}
          onChange={(file) => onChange(file ?? undefined)}
          clearable
          clearButtonProps={{ 'aria-label': t('form.no-file') }}
        />
      );
    case 'conversation':
      return <ConversationControl common={common} value={value as string} onChange={onChange} />;
    default:
      return <LineControl common={common} spec={spec} value={value as string} onChange={onChange} />;
  }
}

interface LineControlProps {
  readonly common: object;
  readonly spec: LineField;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

function LineControl({ common, onChange, spec, value }: LineControlProps) {
  const { autoComplete = 'off', inputMode, isName, max, maxLength, min, minLength, pattern, rows = 4, type } = spec;
  const given = { inputMode, max, maxLength, min, minLength, pattern };
  const set = Object.fromEntries(Object.entries(given).filter(([, one]) => one !== undefined));
  const asName = isName === true ? { spellCheck: false, autoCapitalize: 'none' } : {};
  if (spec.kind === 'text') {
    return (
      <Textarea
        {...common}
        {...asName}
        {...(maxLength === undefined ? {} : { maxLength })}
        rows={rows}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  }
  return (
    <TextInput
      {...common}
      {...set}
      {...asName}
      type={type ?? 'text'}
      autoComplete={autoComplete}
      {...(type === 'datetime-local' ? { step: 1 } : {})}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

interface TicksProps {
  readonly name: string;
  readonly spec: FieldSpec & { readonly kind: 'ticks' };
  readonly ticked: readonly string[];
  readonly onChange: (ticked: readonly string[]) => void;
}

function Ticks({ name, onChange, spec, ticked }: TicksProps) {
  const turn = (value: string, isOn: boolean) => {
    onChange(spec.choices.map((one) => one.value).filter((one) => (one === value ? isOn : ticked.includes(one))));
  };
  return (
    <fieldset className="ticks">
      <legend>{typeof spec.label === 'string' ? t(spec.label) : spec.label.raw}</legend>
      <Stack gap={6}>
        {spec.choices.map(({ label, value }) => (
          <Checkbox
            key={value}
            name={name}
            value={value}
            label={harmlessName(label)}
            checked={ticked.includes(value)}
            onChange={(event) => turn(value, event.currentTarget.checked)}
          />
        ))}
      </Stack>
    </fieldset>
  );
}

/** Rooms that are offered at once. */
const OFFERED_MAX = 20;

/** What the id of a conversation looks like. */
export const CONVERSATION_ID = /^c_[0-9a-z]{22}$/;

interface Offer {
  readonly id: string;
  readonly title: string;
}

/** Whoever types the title of a room chooses it from a list, and nobody types an id. */
function ConversationControl({
  common,
  onChange,
  value,
}: {
  readonly common: object;
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const context = useScreenContext();
  const id = useId();
  const [offered, setOffered] = useState<readonly Offer[]>([]);
  const type = (text: string) => {
    onChange(text);
    const q = text.trim();
    // One that was chosen has nothing more to be found by.
    if (q === '' || CONVERSATION_ID.test(q) || !context.may('conversations:read')) return;
    const query = { q, kind: 'room', sort: 'members', limit: OFFERED_MAX } as const;
    context.call('get /conversations', { query }).then(
      ({ items }) =>
        setOffered(
          items.map(({ id: room, participant_count: people, title }) => ({
            id: room,
            title: `${title === null || title === undefined ? t('conversations.untitled') : harmlessName(title)} · ${people}`,
          })),
        ),
      // What is typed can be sent without a list; the answer to that says what is wrong.
      () => setOffered([]),
    );
  };
  return (
    <>
      <TextInput
        {...common}
        list={id}
        maxLength={100}
        spellCheck={false}
        autoComplete="off"
        value={value}
        onChange={(event) => type(event.currentTarget.value)}
      />
      <datalist id={id}>
        {offered.map((room) => (
          <option key={room.id} value={room.id} label={room.title} />
        ))}
      </datalist>
    </>
  );
}
