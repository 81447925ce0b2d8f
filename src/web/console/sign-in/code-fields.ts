/** The fields by which somebody proves a second factor. */
export const CODE_FIELD = {
  label: 'sign-in.code',
  hint: 'sign-in.code-hint',
  isRequired: true,
  inputMode: 'numeric',
  autoComplete: 'one-time-code',
  pattern: '\\d{3} ?\\d{3}',
  maxLength: 7,
} as const;

export const RECOVERY_FIELD = {
  label: 'sign-in.recovery',
  hint: 'sign-in.recovery-hint',
  isRequired: true,
  maxLength: 64,
  isName: true,
} as const;
