/** Passkeys in a browser: asked for, and made. What goes to the server and comes from it is JSON by the standard. */
import type { NewPasskey, PasskeyAssertion, PasskeyCreation, PasskeyRequest } from '#src/protocol/sessions/passkeys.ts';
import { clientError } from './parley-error.ts';

/** Whether this browser has passkeys, and on this page. */
export function hasPasskeys(): boolean {
  return (
    typeof PublicKeyCredential === 'function' && typeof PublicKeyCredential.parseRequestOptionsFromJSON === 'function'
  );
}

/** Asks the person for a passkey. @throws ParleyError `transfer_aborted` where they give none. */
export async function getPasskey(request: PasskeyRequest): Promise<PasskeyAssertion> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(request);
  return jsonOf(await given(async () => await navigator.credentials.get({ publicKey }))) as PasskeyAssertion;
}

/** Has the person make a passkey. @throws ParleyError `transfer_aborted` where they make none. */
export async function makePasskey(creation: PasskeyCreation): Promise<NewPasskey> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(creation);
  return jsonOf(await given(async () => await navigator.credentials.create({ publicKey }))) as NewPasskey;
}

async function given(work: () => Promise<Credential | null>): Promise<Credential | null> {
  try {
    return await work();
  } catch (cause) {
    // The browser does not say why, so that no page learns what keys there are.
    throw clientError('transfer_aborted', { cause });
  }
}

function jsonOf(credential: Credential | null): unknown {
  if (!(credential instanceof PublicKeyCredential)) throw clientError('transfer_aborted');
  return credential.toJSON();
}
