/** Changes a field as typing would: it can be undone, and whoever listens to the field hears of it. */
import type { KeyboardEvent } from 'react';
import { insertTextIntoField } from 'text-field-edit';
import { formatOf, formatted, type Format } from './formats.ts';

export function formatField(field: HTMLTextAreaElement, format: Format): void {
  const change = formatted(field.value, field.selectionStart, field.selectionEnd, format);
  field.focus();
  field.setSelectionRange(change.from, change.to);
  insertTextIntoField(field, change.text);
  field.setSelectionRange(...change.selected);
}

/** Formats where a key with Ctrl or Cmd asks for it, and answers whether it did. */
export function formatByKey(event: KeyboardEvent<HTMLTextAreaElement>): boolean {
  const format = event.ctrlKey || event.metaKey ? formatOf(event) : undefined;
  if (format === undefined) return false;
  event.preventDefault();
  formatField(event.currentTarget, format);
  return true;
}
