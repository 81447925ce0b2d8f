/** What every field of the form has: what is written, and a way to change it. */
import type { EntryForm } from './entry-form.ts';

export interface FieldsProps {
  readonly form: EntryForm;
  readonly onChange: (form: EntryForm) => void;
}
