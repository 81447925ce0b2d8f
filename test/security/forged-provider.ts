/** A provider of OpenID Connect that says whatever a test wants it to: for tokens that an honest one never gives. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CompactSign, exportJWK, exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT, type JWTPayload } from 'jose';
import { CLIENT_SECRET } from '#test/coordinator/identity-provider.ts';

export type Forgery = 'none' | 'with-client-secret' | 'with-public-key' | 'with-other-key' | 'rightly';

export interface ForgedProvider {
  readonly issuer: string;
  /** What the ID tokens hold that are given from now on, and how they are signed. */
  give(claims: JWTPayload, how?: Forgery): void;
  /** A token of those claims. */
  sign(claims: JWTPayload, how?: Forgery, type?: string): Promise<string>;
  /** What its metadata says from now on besides, or instead; the server reads it anew for another client. */
  describe(metadata: Readonly<Record<string, unknown>>): void;
  /** Cuts every request off, or answers again. */
  cutOff(isAway: boolean): void;
}

export async function startForgedProvider(context: { after(end: () => void): void }): Promise<ForgedProvider> {
  const { privateKey, publicKey } = await generateKeyPair('RS256');
  const { privateKey: otherKey } = await generateKeyPair('RS256');
  let described: Readonly<Record<string, unknown>> = {};
  let [given, forgery, isAway]: [JWTPayload, Forgery, boolean] = [{}, 'rightly', false];
  const sign = async (claims: JWTPayload, how: Forgery = 'rightly', type = 'JWT') => {
    if (how === 'none') return new UnsecuredJWT(claims).encode();
    if (how === 'with-public-key' || how === 'with-client-secret') {
      const secret = new TextEncoder().encode(how === 'with-public-key' ? await exportSPKI(publicKey) : CLIENT_SECRET);
      const bytes = new TextEncoder().encode(JSON.stringify(claims));
      return await new CompactSign(bytes).setProtectedHeader({ alg: 'HS256', kid: 'own', typ: type }).sign(secret);
    }
    const key = how === 'rightly' ? privateKey : otherKey;
    return await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'own', typ: type }).sign(key);
  };
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), alg: 'RS256', use: 'sig', kid: 'own' }] };
  const server = createServer((request, response) => {
    const say = (body: unknown) => response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    if (isAway) request.socket.destroy();
    else if (request.url === '/jwks') say(jwks);
    else if (request.url === '/token') {
      void sign(given, forgery).then((token) =>
        say({ access_token: 'an access token', token_type: 'Bearer', expires_in: 60, id_token: token }),
      );
    } else say({ ...metadata, ...described });
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const metadata = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
  };
  return {
    issuer,
    sign,
    give: (claims, how = 'rightly') => {
      [given, forgery] = [claims, how];
    },
    describe: (more) => {
      described = more;
    },
    cutOff: (now) => {
      isAway = now;
    },
  };
}
