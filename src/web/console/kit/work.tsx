/** A button whose work takes a while: asked about first where it must be, not pressed twice, done or gone wrong said. */
import { Button, Text } from '@mantine/core';
import { useState, type ReactNode } from 'react';
import { harmlessName } from '../../kit/harmless-text.ts';
import { useScreenContext, type ScreenContext } from '../screen-context.ts';
import { t, type Key } from '../words/words.ts';
import { FieldsForm } from './fields-form.tsx';

export interface Question {
  readonly title: Key;
  readonly text: ReactNode;
  readonly yes: Key;
  /** What is to be typed first, of what cannot be undone. */
  readonly typed?: string | undefined;
}

/** Asks whether to go on. Escape and the first button, which has the focus, say no. */
export async function confirmed({ dialogs }: Pick<ScreenContext, 'dialogs'>, question: Question): Promise<boolean> {
  let isYes = false;
  await dialogs.show({
    title: question.title,
    content: (close) => (
      <Asked
        question={question}
        no={close}
        yes={() => {
          isYes = true;
          close();
        }}
      />
    ),
  });
  return isYes;
}

function Asked({
  no,
  question,
  yes,
}: {
  readonly question: Question;
  readonly yes: () => void;
  readonly no: () => void;
}) {
  const { text, typed, yes: label } = question;
  const cancel = (
    <Button variant="default" onClick={no} data-autofocus={typed === undefined || undefined}>
      {t('action.cancel')}
    </Button>
  );
  if (typed !== undefined) {
    return (
      <>
        <Text mb="sm">{text}</Text>
        <TypedQuestion typed={typed} label={label} yes={yes} cancel={cancel} />
      </>
    );
  }
  return (
    <>
      <Text mb="md">{text}</Text>
      <div className="actions">
        {cancel}
        <Button color="red.9" onClick={yes}>
          {t(label)}
        </Button>
      </div>
    </>
  );
}

/** Where something cannot be undone, its name is typed: a hand that only confirms does not get there. */
function TypedQuestion({
  cancel,
  label,
  typed,
  yes,
}: {
  readonly typed: string;
  readonly label: Key;
  readonly yes: () => void;
  readonly cancel: ReactNode;
}) {
  const [isWrong, setWrong] = useState(false);
  return (
    <>
      <Text mb="xs">
        {t('confirm.type')} <code>{harmlessName(typed)}</code>
      </Text>
      {isWrong && (
        <Text c="var(--mantine-color-error)" role="alert">
          {t('confirm.differs')}
        </Text>
      )}
      <FieldsForm
        fields={{ confirmation: { label: 'confirm.field', isRequired: true, maxLength: 300, isName: true } }}
        submit={label}
        isDanger
        more={cancel}
        send={async ({ confirmation }) => {
          if (harmlessName(confirmation) === harmlessName(typed)) yes();
          else setWrong(true);
          await Promise.resolve();
        }}
      />
    </>
  );
}

export interface WorkProps {
  readonly label: Key;
  readonly work: () => Promise<unknown>;
  /** Asked first: the text of the question; `label` is its title and its answer. */
  readonly ask?: ReactNode;
  readonly typed?: string | undefined;
  /** Told once it is done; that it is done is said then. */
  readonly done?: (() => unknown) | undefined;
  /** Nothing is said: what came of it is to be seen. */
  readonly isQuiet?: boolean;
  readonly isDanger?: boolean;
  readonly isPrimary?: boolean;
  readonly size?: 'xs' | 'sm';
}

export function Work({ ask, done, isDanger, isPrimary, isQuiet, label, size, typed, work }: WorkProps) {
  const context = useScreenContext();
  const [isWorking, setWorking] = useState(false);
  const press = async () => {
    if (isWorking) return;
    if (ask !== undefined && !(await confirmed(context, { title: label, text: ask, yes: label, typed }))) return;
    setWorking(true);
    try {
      await work();
      if (isQuiet !== true) context.notices.say('notice.done');
      await done?.();
    } catch (error) {
      context.notices.complain(error);
    } finally {
      setWorking(false);
    }
  };
  const look =
    isPrimary === true ? {} : isDanger === true ? { variant: 'outline', color: 'red.9' } : { variant: 'default' };
  return (
    <Button
      {...look}
      className={isDanger === true ? 'danger' : undefined}
      size={size ?? 'sm'}
      // Not `disabled`, which would take the focus away from who pressed it by key.
      aria-disabled={isWorking || undefined}
      onClick={() => void press()}
    >
      {t(label)}
    </Button>
  );
}
