/** An app that opens a browser to sign somebody in at a provider, and that browser on its way between the two. */
import { createHash, randomBytes } from 'node:crypto';
import type { Session } from '#src/protocol/sessions/sessions.ts';
import { request } from '#test/support/server.ts';

export interface Started {
  readonly answer: Response;
  readonly location: URL;
  readonly cookie: string;
  readonly verifier: string;
}

const s256 = (text: string) => createHash('sha256').update(text).digest('base64url');

export function appBrowser(coordinator: string, app: string) {
  /** As an app opens a browser. */
  async function start(id = 'office', more: Record<string, string> = {}): Promise<Started> {
    const verifier = randomBytes(32).toString('base64url');
    const query = {
      redirect_uri: app,
      code_challenge: s256(verifier),
      code_challenge_method: 'S256',
      state: 'of the app',
    };
    const url = `${coordinator}/v1/auth/sso/${id}/start?${new URLSearchParams({ ...query, ...more })}`;
    const answer = await fetch(url, { redirect: 'manual' });
    const cookie = (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    return { answer, location: new URL(answer.headers.get('location') ?? 'none:'), cookie, verifier };
  }

  /** As the provider leads the browser back; answers where it is led from there. */
  async function back(url: string | URL, cookie: string) {
    const answer = await fetch(url, { redirect: 'manual', headers: { cookie } });
    const text = await answer.text();
    const to = answer.headers.get('location');
    return {
      status: answer.status,
      to: to === null ? undefined : new URL(to),
      body: text === '' ? {} : JSON.parse(text),
    };
  }

  /** As the app turns the code that the browser brought into a session. */
  async function exchange(code: string | null | undefined, verifier: string, more: object = {}) {
    return await request<Session & { code: string }>('POST', `${coordinator}/v1/auth/sso/token`, {
      body: { code, code_verifier: verifier, redirect_uri: app, device: { name: 'Browser', platform: 'web' }, ...more },
    });
  }

  return { back, exchange, start };
}
