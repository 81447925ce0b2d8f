/** What the page's policy asks of scripts: the nonce of this answer, and that no text becomes markup. */
import { setNonce } from 'get-nonce';

/** The nonce that the server gave this page; empty where it came without a policy, as from the build tool's own server. */
export const NONCE = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';

interface PolicyRules {
  readonly createHTML: (text: string) => string;
  readonly createScriptURL: (url: string) => string;
}
type PolicyFactory = { createPolicy(name: string, rules: PolicyRules): unknown };

/** The service worker, at the root of the app. */
export const WORKER_URL = new URL('worker.js', document.baseURI).href;

/**
 * Takes care of the two libraries that write styles as text: both are given the nonce, and the browser takes their text only
 * as long as there is no markup in it. Nothing here makes markup of text; what tried to would fail. The one script that is named
 * by an address is the service worker.
 */
export function securePage(): void {
  if (NONCE !== '') setNonce(NONCE);
  const factory = (globalThis as { trustedTypes?: PolicyFactory }).trustedTypes;
  factory?.createPolicy('default', {
    createHTML: (text) => {
      if (text.includes('<')) throw new TypeError('Text is never made markup of here.');
      return text;
    },
    createScriptURL: (url) => {
      if (url !== WORKER_URL) throw new TypeError('No script is loaded by an address here but the service worker.');
      return url;
    },
  });
}
