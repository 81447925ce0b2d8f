/** What a server that is ready tells the person who started it. */

/** What to do next, for a person; on standard error, so that standard output stays JSON lines. */
export function printWelcome(
  version: string,
  folder: string,
  urls: { readonly coordinator: string; readonly messaging: string; readonly calendar: string },
  setup: string | undefined,
): void {
  const lines = [
    `Parley ${version} is running. Data: ${folder}`,
    `  coordinator  ${urls.coordinator}   sign-in; the console is at /console/`,
    `  messaging    ${urls.messaging}   conversations and sockets`,
    `  calendar     ${urls.calendar}`,
    ...(setup === undefined
      ? []
      : [
          '',
          'There is no owner yet. Open this link once, within 24 hours, to become it:',
          `  ${urls.coordinator}${setup}`,
        ]),
    '',
    'Add people:  echo PASSWORD | npx parley user add NAME',
    'Stop:        Ctrl-C',
  ];
  process.stderr.write(`${lines.join('\n')}\n`);
}
