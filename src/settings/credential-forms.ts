/** Whether a text that an administrator pasted is the credential that its field asks for. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { z } from 'zod';

/** A private key in PEM without a passphrase, of a type that `isRight` takes (as Node names it: `rsa`, `ec`, …). */
export function isPrivateKey(text: string, isRight: (type: string | undefined) => boolean): boolean {
  try {
    return isRight(createPrivateKey(text).asymmetricKeyType);
  } catch {
    return false;
  }
}

/** A certificate in PEM; a chain may stand behind it. */
export function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).raw.length > 0;
  } catch {
    return false;
  }
}

const serviceAccount = z.object({
  type: z.literal('service_account'),
  client_email: z.email(),
  private_key: z.string().refine((text) => isPrivateKey(text, (type) => type === 'rsa')),
});

/** The JSON of a service account of Google, whose key is RSA. */
export function isServiceAccount(text: string): boolean {
  try {
    return serviceAccount.safeParse(JSON.parse(text)).success;
  } catch {
    return false;
  }
}
