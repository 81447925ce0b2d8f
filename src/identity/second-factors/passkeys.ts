/**
 * Passkeys of people (WebAuthn): made and asked for with the person verified by their device, and found again without a
 * name. `@simplewebauthn/server` reads and verifies what browsers bring; what it is held to stands here.
 *
 * What is brought is verified outside a change, which a signature would hold up, and stored or used within one, which looks
 * again whether the passkey is there.
 */
import { randomBytes } from 'node:crypto';
import type { Clock } from '#src/base/clock.ts';
import { makeId } from '#src/base/ids.ts';
import { hashSecret } from '../credentials/opaque-secrets.ts';
import { Refusal } from '#src/protocol/errors.ts';
import {
  PASSKEYS_MAX,
  type NewPasskey,
  type PasskeyAssertion,
  type PasskeyCreation,
  type PasskeyRequest,
} from '#src/protocol/sessions/passkeys.ts';
import type { Accounts, AccountsDraft } from '#storage/accounts/accounts.ts';
import { defineCollection } from '#storage/accounts/collections.ts';
import type { RelyingParty } from './relying-party.ts';
import { CHALLENGE_SECONDS, type ChallengePurpose, type WebauthnChallenges } from './webauthn-challenges.ts';

export interface PasskeyRecord {
  readonly id: string;
  /** Base64url, as the authenticator calls it. */
  readonly credential: string;
  /** COSE (RFC 9052). */
  readonly publicKey: Uint8Array;
  /** How often the authenticator says that it signed; 0 for ever where it does not count. */
  readonly counter: number;
  readonly transports: readonly string[];
  readonly name: string;
  /** Milliseconds. */
  readonly createdAt: number;
  /** Milliseconds. */
  readonly usedAt: number | null;
  /** Whether it signs in without a password: not after a restore, before it was used beside one. */
  readonly isAlone: boolean;
}

interface PasskeysRecord {
  /** What authenticators know the person by: random bytes, base64url, which tell nothing. */
  readonly handle: string;
  readonly keys: readonly PasskeyRecord[];
}

/** Username → theirs, the oldest first. */
const passkeys = defineCollection<PasskeysRecord>('passkeys', { version: 1 });
/** SHA-256 of a credential’s id → whose it is. */
const passkeyHolders = defineCollection<string>('passkey_holders', { version: 1 });

/**
 * ES256, EdDSA with Ed25519, RS256: what authenticators have, in the order of preference, and the type and curve that a key
 * of each has (RFC 9053, RFC 8230).
 */
const KEYS_OF: ReadonlyMap<number, { readonly type: number; readonly curve: number | undefined }> = new Map([
  [-7, { type: 2, curve: 1 }],
  [-8, { type: 1, curve: 6 }],
  [-257, { type: 3, curve: undefined }],
]);
const ALGORITHMS = [...KEYS_OF.keys()];

const HANDLE_BYTES = 32;
const RP_NAME = 'Parley';

type View = Pick<AccountsDraft, 'document'>;

/** A passkey that signed a challenge of ours, to be used within a change. */
export interface VerifiedPasskey {
  readonly username: string;
  readonly credential: string;
  readonly counter: number;
}

export interface PasskeysOptions {
  readonly accounts: Accounts;
  readonly challenges: WebauthnChallenges;
  readonly clock: Clock;
  /** What passkeys are bound to; undefined where the installation has no host name that could be. */
  readonly party: () => RelyingParty | undefined;
  /** Told of a passkey whose counter went back: somebody may have a copy of it. */
  readonly copied: (username: string, address: string) => Promise<void> | void;
}

export class Passkeys {
  readonly #options: PasskeysOptions;

  constructor(options: PasskeysOptions) {
    this.#options = options;
  }

  /** Those of a person, the oldest first. */
  of(username: string, view: View = this.#options.accounts): readonly PasskeyRecord[] {
    return view.document(passkeys, username)?.keys ?? [];
  }

  /** Whether this installation can have any. */
  get isAvailable(): boolean {
    return this.#options.party() !== undefined;
  }

  /**
   * What a browser asks for a passkey with: for one of a person’s, or for any without a username.
   * @throws Refusal `passkeys_unavailable`.
   */
  request(purpose: ChallengePurpose, username?: string): PasskeyRequest {
    const { challenges, clock } = this.#options;
    const { id: rpId } = this.#party();
    return {
      challenge: challenges.make(purpose, clock.now()),
      rpId,
      timeout: CHALLENGE_SECONDS * 1000,
      userVerification: 'required',
      allowCredentials: username === undefined ? [] : this.of(username).map(descriptorOf),
    };
  }

  /** What a browser makes a passkey with. @throws Refusal `passkeys_full`, `passkeys_unavailable`; `storage_full`. */
  async creation(purpose: ChallengePurpose, username: string, displayName: string): Promise<PasskeyCreation> {
    const { accounts, challenges, clock } = this.#options;
    const { id } = this.#party();
    const { handle, keys } = accounts.document(passkeys, username) ?? (await this.#makeHandle(username));
    if (keys.length >= PASSKEYS_MAX) throw new Refusal('passkeys_full');
    return {
      challenge: challenges.make(purpose, clock.now()),
      rp: { id, name: RP_NAME },
      user: { id: handle, name: username, displayName },
      pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
      timeout: CHALLENGE_SECONDS * 1000,
      attestation: 'none',
      authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      excludeCredentials: keys.map(descriptorOf),
    };
  }

  /**
   * Verifies a passkey that a browser made; what it answers stores it, as part of a change, and says which it is.
   * @throws Refusal `passkey_invalid`, whatever is wrong with it; `passkeys_unavailable`. The change throws
   * `passkey_invalid` for one that is there already, whosever it is, and `passkeys_full`.
   */
  async verifyNew(given: NewPasskey, purpose: ChallengePurpose, username: string, name: string) {
    const { challenges, clock } = this.#options;
    const { id: expectedRPID, origins } = this.#party();
    const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
    const now = clock.now();
    const challenge = await challengeIn(given.response.clientDataJSON);
    const made = await tried(async () => {
      await assertPlainAttestation(given.response.attestationObject);
      return await verifyRegistrationResponse({
        response: { ...given, clientExtensionResults: {} } as never,
        expectedChallenge: (one) => challenges.isGood(one, purpose, now),
        expectedOrigin: [...origins],
        expectedRPID,
        requireUserVerification: true,
        supportedAlgorithmIDs: ALGORITHMS,
      });
    });
    const credential = made?.verified === true ? made.registrationInfo.credential : undefined;
    // Of what a browser says twice, one would be believed and the other stored.
    if (
      credential?.id !== given.id ||
      !(await isOfItsAlgorithm(credential.publicKey)) ||
      !challenges.use(challenge, purpose, now)
    )
      throw new Refusal('passkey_invalid');
    const record: PasskeyRecord = {
      id: makeId('psk', now),
      credential: credential.id,
      publicKey: Uint8Array.from(credential.publicKey),
      counter: credential.counter,
      transports: given.response.transports ?? [],
      name,
      createdAt: now,
      usedAt: null,
      isAlone: true,
    };
    return (draft: AccountsDraft): PasskeyRecord => {
      const own = draft.document(passkeys, username) ?? { handle: makeHandle(), keys: [] };
      if (own.keys.length >= PASSKEYS_MAX) throw new Refusal('passkeys_full');
      const holder = hashSecret(record.credential);
      if (draft.document(passkeyHolders, holder) !== undefined) throw new Refusal('passkey_invalid');
      draft.putDocument(passkeyHolders, holder, username);
      draft.putDocument(passkeys, username, { ...own, keys: [...own.keys, record] });
      return record;
    };
  }

  /**
   * Who signed a challenge of that purpose; undefined for whatever is wrong with it, an unknown passkey as any other. One whose
   * counter went back is undefined, too, and told of; so is one that is not `expected`’s, where somebody is.
   * @throws Refusal `passkeys_unavailable`.
   */
  async verify(
    given: PasskeyAssertion,
    purpose: ChallengePurpose,
    address: string,
    expected?: string,
  ): Promise<VerifiedPasskey | undefined> {
    const { accounts, challenges, clock, copied } = this.#options;
    const { id: expectedRPID, origins } = this.#party();
    const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
    const now = clock.now();
    const username = accounts.document(passkeyHolders, hashSecret(given.id));
    const own = username === undefined ? undefined : accounts.document(passkeys, username);
    const record = own?.keys.find(({ credential }) => credential === given.id);
    const challenge = await challengeIn(given.response.clientDataJSON);
    const verified = await tried(
      async () =>
        await verifyAuthenticationResponse({
          response: { ...given, clientExtensionResults: {} } as never,
          expectedChallenge: (one) => challenges.isGood(one, purpose, now),
          expectedOrigin: [...origins],
          expectedRPID,
          // Its counter is judged below, behind its signature: a stranger could raise alarms by it.
          credential: { id: given.id, counter: 0, publicKey: Uint8Array.from(record?.publicKey ?? NOBODYS_KEY) },
          requireUserVerification: true,
        }),
    );
    if (verified?.verified !== true || username === undefined || record === undefined) return undefined;
    if (expected !== undefined && expected !== username) return undefined;
    const handle = given.response.userHandle ?? own?.handle;
    if (handle !== own?.handle || !challenges.use(challenge, purpose, now)) return undefined;
    const { newCounter: counter } = verified.authenticationInfo;
    if (wentBack(record.counter, counter)) {
      await copied(username, address);
      return undefined;
    }
    return { username, credential: record.credential, counter };
  }

  /**
   * Uses a passkey that was verified, as part of a change: alone, or beside a password, after which it may be used alone.
   * False where it is gone, was used further meanwhile, or may not be used alone.
   */
  use(draft: AccountsDraft, { counter, credential, username }: VerifiedPasskey, isAlone: boolean): boolean {
    const own = draft.document(passkeys, username);
    const record = own?.keys.find((one) => one.credential === credential);
    if (own === undefined || record === undefined || wentBack(record.counter, counter)) return false;
    if (isAlone && !record.isAlone) return false;
    const used = { ...record, counter, usedAt: this.#options.clock.now(), isAlone: true };
    draft.putDocument(passkeys, username, { ...own, keys: own.keys.map((one) => (one === record ? used : one)) });
    return true;
  }

  /** Calls one something else, as part of a change. @throws Refusal `second_factor_not_found`. */
  rename(draft: AccountsDraft, username: string, id: string, name: string): PasskeyRecord {
    const { own, record } = find(draft, username, id);
    const renamed = { ...record, name };
    draft.putDocument(passkeys, username, { ...own, keys: own.keys.map((one) => (one === record ? renamed : one)) });
    return renamed;
  }

  /** Takes one away, as part of a change. @throws Refusal `second_factor_not_found`. */
  remove(draft: AccountsDraft, username: string, id: string): void {
    const { own, record } = find(draft, username, id);
    draft.removeDocument(passkeyHolders, hashSecret(record.credential));
    draft.putDocument(passkeys, username, { ...own, keys: own.keys.filter((one) => one !== record) });
  }

  /** Whose passkey that is; undefined for one that nobody has. */
  holderOf(credential: string): string | undefined {
    return this.#options.accounts.document(passkeyHolders, hashSecret(credential));
  }

  #party(): RelyingParty {
    const party = this.#options.party();
    if (party === undefined) throw new Refusal('passkeys_unavailable');
    return party;
  }

  /** The handle is kept before it is told: an authenticator has one passkey for each. */
  async #makeHandle(username: string): Promise<PasskeysRecord> {
    return await this.#options.accounts.change((draft) => {
      // Erased or gone while this change waited for its turn: nothing of theirs is stored any more.
      if (draft.person(username)?.state !== 'active') throw new Refusal('session_revoked');
      const made = draft.document(passkeys, username) ?? { handle: makeHandle(), keys: [] };
      draft.putDocument(passkeys, username, made);
      return made;
    });
  }
}

/** Takes all passkeys of a person away, as part of a change; whether there were any. */
export function forgetPasskeys(draft: AccountsDraft, username: string): boolean {
  const keys = draft.document(passkeys, username)?.keys ?? [];
  for (const { credential } of keys) draft.removeDocument(passkeyHolders, hashSecret(credential));
  draft.removeDocument(passkeys, username);
  return keys.length > 0;
}

function find(draft: AccountsDraft, username: string, id: string) {
  const own = draft.document(passkeys, username);
  const record = own?.keys.find((one) => one.id === id);
  if (own === undefined || record === undefined) throw new Refusal('second_factor_not_found');
  return { own, record };
}

function makeHandle(): string {
  return randomBytes(HANDLE_BYTES).toString('base64url');
}

/** Whether a counter does not go on; one that stays at 0 is none (WebAuthn, section 6.1.1). */
function wentBack(before: number, after: number): boolean {
  return (before > 0 || after > 0) && after <= before;
}

function descriptorOf({ credential, transports }: PasskeyRecord) {
  return { id: credential, type: 'public-key' as const, transports: [...transports] };
}

/** What the browser says that was signed; empty where it says nothing that could be read. */
async function challengeIn(clientData: string): Promise<string> {
  const said = await tried(async () => JSON.parse(Buffer.from(clientData, 'base64url').toString('utf8')) as unknown);
  const challenge = (said as { challenge?: unknown } | null | undefined)?.challenge;
  return typeof challenge === 'string' ? challenge : '';
}

/**
 * No attestation was asked for, and browsers take it out or leave one that an authenticator made of itself. What comes with a
 * chain of certificates was made by hand, and is not parsed. @throws Error
 */
async function assertPlainAttestation(attestation: string): Promise<void> {
  const { decodeAttestationObject } = await import('@simplewebauthn/server/helpers');
  const decoded = decodeAttestationObject(Uint8Array.from(Buffer.from(attestation, 'base64url')));
  const format = decoded.get('fmt');
  if (format === 'none' || (format === 'packed' && decoded.get('attStmt').get('x5c') === undefined)) return;
  throw new Error(`An attestation of format ${format} was not asked for.`);
}

/** Whether a key is what its algorithm says: the library takes the one from here and the other from there. */
async function isOfItsAlgorithm(publicKey: Uint8Array): Promise<boolean> {
  const { decodeCredentialPublicKey } = await import('@simplewebauthn/server/helpers');
  // Labels of COSE: 1 the type of the key, 3 its algorithm, -1 its curve, which is the modulus of one of RSA.
  const key = decodeCredentialPublicKey(Uint8Array.from(publicKey)) as unknown as ReadonlyMap<number, unknown>;
  const expected = KEYS_OF.get(key.get(3) as number);
  if (expected === undefined || key.get(1) !== expected.type) return false;
  return expected.curve === undefined || key.get(-1) === expected.curve;
}

/** The library throws for whatever is wrong with what came: who sent it reads one code for all of it. */
async function tried<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch {
    return undefined;
  }
}

/**
 * The base point of P-256 as a key (SEC 2, section 2.4.2): what an unknown passkey is verified by, at the cost of a known one.
 * Anybody can sign by it, and is refused.
 */
const NOBODYS_KEY = Buffer.from(
  [
    'a5010203262001215820',
    '6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296',
    '225820',
    '4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5',
  ].join(''),
  'hex',
);
