/** A real OpenID provider on loopback, and a browser that walks through its pages. */
import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider, type Configuration } from 'oidc-provider';

export const REDIRECT_URI = 'http://127.0.0.1:1/console/signed-in';
export const CLIENT_ID = 'parley-console';
export const APP_CLIENT_ID = 'parley-apps';
export const CLIENT_SECRET = 'a client secret of thirty-two characters';

/** What the provider says of an account, beside its subject. */
export type Account = Readonly<Record<string, unknown>>;

export interface IdentityProvider {
  readonly issuer: string;
  /** Subject → claims. */
  readonly accounts: Map<string, Account>;
  readonly provider: Provider;
  /** Requests to a path so far. */
  readonly requests: (path: string) => number;
  /** From now on no request is answered. */
  hang(): void;
  /** Signs in as a subject and answers the URL that the provider redirects back to. */
  signIn(url: string, subject: string): Promise<URL>;
}

export interface ProviderSettings {
  /** Whether the ID token holds all claims; otherwise they are in the user info, as the standard has it. */
  readonly claimsInIdToken?: boolean;
  /** Addresses that a second client, APP_CLIENT_ID, may send people back to. */
  readonly appRedirects?: readonly string[];
}

export async function startIdentityProvider(
  context: { after(end: () => void): void },
  settings: ProviderSettings = {},
): Promise<IdentityProvider> {
  const accounts = new Map<string, Account>();
  const requests: string[] = [];
  let hangs = false;
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, configurationOf(accounts, settings));
  const handle = provider.callback();
  // The issuer has the port in it, so the handler comes after the port.
  server.on('request', (request, response) => {
    requests.push(request.url ?? '');
    if (!hangs) void handle(request, response);
  });
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    issuer,
    accounts,
    provider,
    requests: (path) => requests.filter((url) => url === path).length,
    hang: () => {
      hangs = true;
    },
    signIn: async (url, subject) => await signInAt(issuer, url, subject),
  };
}

/** Signs in as a subject at a provider; the URL that it redirects back to. */
export async function signInAt(issuer: string, url: string, subject: string): Promise<URL> {
  return await new Browser(issuer).signIn(url, subject);
}

function configurationOf(accounts: Map<string, Account>, settings: ProviderSettings): Configuration {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = privateKey.export({ format: 'jwk' });
  return {
    clients: [
      { client_id: CLIENT_ID, client_secret: CLIENT_SECRET, redirect_uris: [REDIRECT_URI] },
      ...(settings.appRedirects ?? []).slice(0, 1).map(() => ({
        client_id: APP_CLIENT_ID,
        client_secret: CLIENT_SECRET,
        redirect_uris: [...(settings.appRedirects ?? [])],
        backchannel_logout_uri: 'http://127.0.0.1:1/logout',
        backchannel_logout_session_required: true,
      })),
    ],
    features: { backchannelLogout: { enabled: true } },
    jwks: { keys: [{ ...jwk, kty: 'RSA', alg: 'RS256', use: 'sig', kid: 'of-the-test' }] },
    cookies: { keys: ['a key of the test'] },
    claims: {
      openid: ['sub'],
      profile: ['preferred_username', 'name', 'groups', 'realm_access'],
      email: ['email', 'email_verified'],
    },
    conformIdTokenClaims: settings.claimsInIdToken !== true,
    pkce: { required: () => true },
    // Consent is the provider's own business.
    loadExistingGrant: async (ctx) => {
      const grant = new ctx.oidc.provider.Grant({
        accountId: ctx.oidc.session?.accountId as string,
        clientId: ctx.oidc.client?.clientId as string,
      });
      grant.addOIDCScope('openid profile email');
      await grant.save();
      return grant;
    },
    findAccount: (_ctx, subject) => ({
      accountId: subject,
      claims: () => ({ ...accounts.get(subject), sub: subject }),
    }),
    ttl: { AuthorizationCode: 60, AccessToken: 600, IdToken: 600, Grant: 600, Interaction: 600, Session: 600 },
  };
}

/** As much of a browser as the provider's pages need: cookies, redirects, one form. */
class Browser {
  readonly #issuer: string;
  readonly #cookies = new Map<string, string>();

  constructor(issuer: string) {
    this.#issuer = issuer;
  }

  async signIn(url: string, subject: string): Promise<URL> {
    let page = await this.#follow(url);
    for (let pages = 0; pages < 5; pages += 1) {
      if (!page.url.startsWith(this.#issuer)) return new URL(page.url);
      const form = /action="([^"]+)"/.exec(page.text)?.[1];
      if (form === undefined) throw new Error(`The provider's page has no form: ${page.text.slice(0, 500)}`);
      // A provider that leaves consent to its pages asks for it in a second one.
      const prompt = /name="prompt" value="(\w+)"/.exec(page.text)?.[1] ?? 'login';
      const body = new URLSearchParams({ prompt, login: subject, password: 'any' });
      page = await this.#follow(form.replaceAll('&amp;', '&'), { method: 'POST', body });
    }
    throw new Error('The provider asks for ever.');
  }

  /** Loads a page and follows redirects for as long as they stay at the provider. */
  async #follow(start: string, first: RequestInit = {}): Promise<{ url: string; text: string }> {
    let [url, init] = [start, first];
    for (;;) {
      const cookie = [...this.#cookies].map((pair) => pair.join('=')).join('; ');
      const answer = await fetch(url, { ...init, redirect: 'manual', headers: { cookie } });
      for (const set of answer.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
        this.#cookies.set(name, value);
      }
      const location = answer.headers.get('location');
      if (location === null) return { url, text: await answer.text() };
      await answer.body?.cancel();
      url = new URL(location, url).href;
      init = {};
      if (!url.startsWith(this.#issuer)) return { url, text: '' };
    }
  }
}
