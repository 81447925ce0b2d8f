/** Preloaded into every test file: a process warning (deprecation, leaked listeners, unsafe use) fails the file. */

process.on('warning', (warning) => {
  // Experimental features warn by being used at all; those that are used were chosen.
  if (warning.name === 'ExperimentalWarning') return;
  console.error(`A process warning fails this test file: ${warning.stack ?? warning.message}`);
  process.exitCode = 1;
});
