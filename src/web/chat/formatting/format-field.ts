/** Changes a field as typing would: it can be undone, and whoever listens to the field hears of it. */
import { insertTextIntoField } from 'text-field-edit';
import { formatted, type Format } from './formats.ts';

export function formatField(field: HTMLTextAreaElement, format: Format): void {
  const change = formatted(field.value, field.selectionStart, field.selectionEnd, format);
  field.focus();
  field.setSelectionRange(change.from, change.to);
  insertTextIntoField(field, change.text);
  field.setSelectionRange(...change.selected);
}
