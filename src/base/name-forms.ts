/** What a person is called, found in texts that others wrote, as whole words in any case of letters. */

/** Names, addresses and numbers as they are found; a number also without its plus sign. */
export function formsOf(names: readonly string[]): RegExp[] {
  return names
    .map((name) => name.trim().replace(/^\+/, ''))
    .filter((name) => name !== '')
    .map((name) => new RegExp(`(?<![\\p{L}\\p{N}])${escaped(name)}(?![\\p{L}\\p{N}])`, 'iu'));
}

/** `@username`, and not the beginning of a longer one or the end of an address. */
export function atForm(user: string): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{N}._-])@${escaped(user)}(?![\\p{L}\\p{N}_-]|\\.[\\p{L}\\p{N}])`, 'giu');
}

/** A text with `standIn` where it says `@user` or one of the names; the text itself where it says none of them. */
export function withoutNames(
  text: string,
  { names, standIn, user }: { readonly user: string; readonly names: readonly string[]; readonly standIn: string },
): string {
  const called = formsOf(names).reduce(
    (left, form) => left.replaceAll(new RegExp(`\\+?${form.source}`, 'giu'), () => standIn),
    text,
  );
  return called.replaceAll(atForm(user), () => `@${standIn}`);
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}
