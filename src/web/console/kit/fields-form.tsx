/** A form made from a description of its fields: sent once at a time, and what went wrong said beside the field that is to blame. */
import { Alert, Button } from '@mantine/core';
import { useRef, useState, type ReactNode, type SubmitEvent } from 'react';
import { ParleyError } from '#src/client/parley-error.ts';
import { sentenceOf, t, type Key } from '../words/words.ts';
import { Control, type ControlValue } from './control.tsx';
import { firstValue, type FieldSpec, type FieldSpecs, type Typed, type ValuesOf } from './field-specs.ts';

export interface FieldsFormProps<S extends FieldSpecs> {
  readonly fields: S;
  readonly submit: Key;
  /** Sends the form; what it throws is shown in the form, and nothing that was typed is lost. */
  readonly send: (values: ValuesOf<S>) => Promise<unknown>;
  /** Empties the fields once it was sent, for the next one. */
  readonly isClearing?: boolean;
  /** Lays the fields beside each other, as a filter. */
  readonly isFilter?: boolean;
  readonly isDanger?: boolean;
  /** Beside the button. */
  readonly more?: ReactNode;
  /** Told of every change; answers the values that take the place of others. */
  readonly onType?: (name: keyof S & string, values: ValuesOf<S>) => Partial<ValuesOf<S>> | undefined;
}

type Values = Readonly<Record<string, ControlValue>>;

function firstValues(fields: FieldSpecs): Values {
  return Object.fromEntries(Object.entries(fields).map(([name, spec]) => [name, firstValue(spec)]));
}

/** The fields that are asked for, by what was typed so far. */
function shownOf(fields: FieldSpecs, values: Values): [string, FieldSpec][] {
  const typed = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof value === 'string' ? value : '']),
  ) as Typed;
  return Object.entries(fields).filter(([, spec]) => spec.isShown?.(typed) ?? true);
}

export function FieldsForm<const S extends FieldSpecs>(props: FieldsFormProps<S>) {
  const { fields, isClearing, isDanger, isFilter, more, onType, send, submit } = props;
  const [values, setValues] = useState<Values>(() => firstValues(fields));
  const [blamed, setBlamed] = useState<{ readonly name: string; readonly sentence: string }>();
  const [wrong, setWrong] = useState<string>();
  const [isSending, setSending] = useState(false);
  const place = useRef<HTMLFormElement>(null);
  const shown = shownOf(fields, values);
  const change = (name: string, value: ControlValue) => {
    const next = { ...values, [name]: value };
    setValues({ ...next, ...(onType?.(name, next as ValuesOf<S>) as Values | undefined) });
  };
  const tell = (thrown: unknown) => {
    const field = thrown instanceof ParleyError ? thrown.field : undefined;
    if (field === undefined || !shown.some(([name]) => name === field)) return setWrong(sentenceOf(thrown));
    const { code, message } = thrown as ParleyError;
    setBlamed({ name: field, sentence: sentenceOf(new ParleyError(code, message)) });
    return place.current?.querySelector<HTMLElement>(`[name="${CSS.escape(field)}"]`)?.focus();
  };
  const work = async () => {
    if (isSending) return;
    setBlamed(undefined);
    setWrong(undefined);
    setSending(true);
    try {
      await send(values as ValuesOf<S>);
      if (isClearing === true) setValues(firstValues(fields));
    } catch (error) {
      tell(error);
    } finally {
      setSending(false);
    }
  };
  return (
    <form
      ref={place}
      className={isFilter === true ? 'fields filter' : 'fields'}
      role={isFilter === true ? 'search' : undefined}
      onSubmit={(event: SubmitEvent) => {
        event.preventDefault();
        void work();
      }}
    >
      {shown.map(([name, spec]) => (
        <Control
          key={name}
          name={name}
          spec={spec}
          value={values[name]}
          error={blamed?.name === name ? blamed.sentence : undefined}
          onChange={(value) => change(name, value)}
        />
      ))}
      {wrong === undefined ? null : (
        <Alert color="red" role="alert" variant="light" className="form-error">
          {wrong}
        </Alert>
      )}
      <div className="actions">
        {/* Not `disabled`, which would take the focus away from who pressed it by key. */}
        <Button type="submit" aria-disabled={isSending || undefined} {...(isDanger === true ? { color: 'red.9' } : {})}>
          {t(submit)}
        </Button>
        {more}
      </div>
    </form>
  );
}

/** Fields that filter a list as they are typed into. */
export function Filters<const S extends FieldSpecs>({
  fields,
  onChange,
  values,
}: {
  readonly fields: S;
  readonly values: Readonly<Record<keyof S, string>>;
  readonly onChange: (values: Readonly<Record<keyof S, string>>) => void;
}) {
  return (
    <div className="fields filter" role="search">
      {Object.entries(fields).map(([name, spec]) => (
        <Control
          key={name}
          name={name}
          spec={spec}
          value={values[name]}
          onChange={(value) => onChange({ ...values, [name]: value as string })}
        />
      ))}
    </div>
  );
}
