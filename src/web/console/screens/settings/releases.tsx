/** The clients' releases, and the token with which a build announces one. */
import { DataTable, listOf } from '../../kit/data-table.tsx';
import { Actions, Facts, StateBadge, When } from '../../kit/facts.tsx';
import { LoadedPlace, useLoaded } from '../../kit/loaded.tsx';
import { showOnce } from '../../kit/shown-once.tsx';
import { Work } from '../../kit/work.tsx';
import { useScreenContext } from '../../screen-context.ts';
import { t } from '../../words/words.ts';

/** A publish token has as many random bytes as every other secret of the installation. */
const TOKEN_BYTES = 32;

export function ReleasesScreen() {
  const context = useScreenContext();
  const clients = useLoaded(async () => await context.call('get /clients', {}));
  const issue = async () => {
    const token = makeToken();
    await context.call('put /clients', { body: { publish_token: token } });
    void showOnce(context.dialogs, 'releases.token', { hint: 'releases.token-hint', secret: token });
  };
  return (
    <LoadedPlace of={clients}>
      {({ publish_token: { set: isSet }, releases }) => (
        <>
          <Facts
            of={{
              'releases.token': (
                <StateBadge tone={isSet ? 'good' : 'plain'}>
                  {t(isSet ? 'settings.set' : 'settings.not-set')}
                </StateBadge>
              ),
            }}
          />
          {context.may('access:write') && (
            <Actions>
              <Work label="releases.issue" isQuiet work={issue} done={clients.reload} />
              {isSet && (
                <Work
                  label="releases.remove"
                  isDanger
                  work={async () => await context.call('put /clients', { body: { publish_token: null } })}
                  done={clients.reload}
                />
              )}
            </Actions>
          )}
          <DataTable
            caption="releases.title"
            empty="releases.empty"
            list={listOf(releases)}
            columns={[
              { head: 'releases.platform', cell: ({ platform }) => platform },
              { head: 'releases.version', cell: ({ version }) => version },
              { head: 'automations.url', cell: ({ url }) => url },
              { head: 'column.since', cell: ({ announced_at: at }) => <When at={at} /> },
            ]}
          />
        </>
      )}
    </LoadedPlace>
  );
}

/** Random bytes as base64url, which is made here and shown to whoever asked for it alone. */
function makeToken(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(TOKEN_BYTES));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
