/** The clients' releases, and the token with which a build announces one. */
import type { ReplyOf } from '../console-api.ts';
import { badge, element, facts, fill, workButton, type Child } from '../elements.ts';
import { t, when } from '../language.ts';
import { Listing, loaded } from '../listing.ts';
import { shownOnce } from '../shown-once.ts';
import type { Screen, ScreenContext } from '../screen-context.ts';

/** A publish token has as many random bytes as every other secret of the installation. */
const TOKEN_BYTES = 32;

export const releasesScreen: Screen = {
  path: 'releases',
  title: 'releases.title',
  section: 'access',
  needs: 'settings:read',
  isForVendors: false,
  show: (stage) => {
    const once = element('div');
    const body = loaded(
      async () => await stage.call('get /clients', {}),
      (clients) => showReleases(stage, clients, once, () => body.reload()),
    );
    return [once, body];
  },
};

function showReleases(
  stage: ScreenContext,
  clients: ReplyOf<'get /clients'>,
  once: HTMLElement,
  reload: () => void,
): Child[] {
  const isTokenSet = clients.publish_token.set;
  const issue = workButton('releases.issue', stage.notices, async () => {
    const token = makeToken();
    await stage.call('put /clients', { body: { publish_token: token } });
    fill(once, shownOnce({ title: 'releases.token', hint: 'releases.token-hint', secret: token }));
    reload();
  });
  const remove = workButton('releases.remove', stage.notices, async () => {
    await stage.call('put /clients', { body: { publish_token: null } });
    stage.notices.say('notice.done');
    reload();
  });
  return [
    facts([
      'releases.token',
      badge(t(isTokenSet ? 'settings.set' : 'settings.not-set'), isTokenSet ? 'good' : 'plain'),
    ]),
    stage.may('access:write') && element('div', { class: 'actions' }, issue, isTokenSet && remove),
    new Listing({
      caption: 'releases.title',
      empty: 'releases.empty',
      load: async () => ({ items: clients.releases, next: null }),
      columns: [
        { head: 'releases.platform', cell: ({ platform }) => platform },
        { head: 'releases.version', cell: ({ version }) => version },
        { head: 'automations.url', cell: ({ url }) => url },
        { head: 'column.since', cell: ({ announced_at: at }) => when(at) },
      ],
    }).element,
  ];
}

/** Random bytes as base64url, which is made here and shown to whoever asked for it alone. */
function makeToken(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(TOKEN_BYTES));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
