/** How long the browser has to read it; kept for ever it would be memory of the page. */
const OFFERED_MILLIS = 60_000;

/** Hands a file to the browser, which keeps it where it keeps what was downloaded. */
export function offerFile(bytes: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(bytes);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), OFFERED_MILLIS);
}
