/** What came of a form: done, or why not. */
import { Alert } from '@mantine/core';

export interface Answer {
  readonly text: string;
  readonly isDone: boolean;
}

export function FormAnswer({ answer }: { readonly answer: Answer | undefined }) {
  if (answer === undefined) return null;
  return (
    <Alert color={answer.isDone ? 'green' : 'red'} role={answer.isDone ? 'status' : 'alert'} p="xs">
      {answer.text}
    </Alert>
  );
}
