/** What stands where a screen broke: nothing of the server is lost by it, and the next screen works. */
import { Button } from '@mantine/core';
import { t } from '../words/words.ts';

export function BrokenScreen() {
  return (
    <main className="gate">
      <h1>{t('shell.broken')}</h1>
      <p>{t('shell.broken-why')}</p>
      <Button onClick={() => location.reload()}>{t('action.retry')}</Button>
    </main>
  );
}
