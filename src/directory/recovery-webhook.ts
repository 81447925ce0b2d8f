/** Delivers recovery codes by a webhook: one POST to the URL of the settings, and nothing about the code in any log. */
import type { RecoverySender } from './recovery.ts';

/** A gateway that has not answered by then is taken as failed; the code can still be read in the console. */
export const RECOVERY_WEBHOOK_MILLIS = 5_000;

/** A sender that posts `{phone, code, expires_at}`. A redirect is a failure: the code goes to that URL and nowhere else. */
export function makeRecoveryWebhook(url: string): RecoverySender {
  return async (message) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(message),
      redirect: 'error',
      signal: AbortSignal.timeout(RECOVERY_WEBHOOK_MILLIS),
    });
    await response.body?.cancel();
    if (!response.ok) throw new WebhookRefused();
  };
}

/** The gateway answered, and not with success. */
class WebhookRefused extends Error {
  override readonly name = 'WebhookRefused';
}
