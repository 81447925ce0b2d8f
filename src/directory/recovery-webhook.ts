/** Delivers recovery codes by a webhook: one POST to the URL of the settings, and nothing about the code in any log. */
import { sendOutgoing } from '#src/outgoing/request.ts';
import type { RecoverySender } from './recovery.ts';

/** A gateway that has not answered by then is taken as failed; the code can still be read in the console. */
export const RECOVERY_WEBHOOK_MILLIS = 5_000;

/** What is read of its answer: the status is all that counts. */
const ANSWER_BYTES_MAX = 1_024;

/** A sender that posts `{phone, code, expires_at}`. A redirect is a failure: the code goes to that URL and nowhere else. */
export function makeRecoveryWebhook(url: string): RecoverySender {
  return async (message) => {
    const { status } = await sendOutgoing({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(message),
      millis: RECOVERY_WEBHOOK_MILLIS,
      bytesMax: ANSWER_BYTES_MAX,
      // The operator named it in the configuration of this host, where it may well be beside the server.
      allowPrivateTargets: true,
    });
    if (status < 200 || status > 299) throw new WebhookRefused();
  };
}

/** The gateway answered, and not with success. */
class WebhookRefused extends Error {
  override readonly name = 'WebhookRefused';
}
