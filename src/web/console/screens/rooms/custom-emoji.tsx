/** Emoji of the installation's own: their pictures, who made them, who may, and making and removing them. */
import { useRef, useState } from 'react';
import { EMOJI_BYTES_MAX } from '#src/protocol/limits.ts';
import { harmlessName } from '../../../kit/harmless-text.ts';
import { DataTable, useList } from '../../kit/data-table.tsx';
import { harmless, Hint, Part, ScreenLink, When } from '../../kit/facts.tsx';
import { FieldsForm } from '../../kit/fields-form.tsx';
import { LoadedPlace, useLoaded } from '../../kit/loaded.tsx';
import { Work } from '../../kit/work.tsx';
import type { ItemOf } from '../../session/console-api.ts';
import { useScreenContext } from '../../screen-context.ts';
import { t } from '../../words/words.ts';

type Emoji = ItemOf<'get /emoji'>;

/** Shown at once: each has a picture that is asked for. */
const SHOWN_AT_ONCE = 50;

export function CustomEmojiScreen() {
  const context = useScreenContext();
  const mayWrite = context.may('settings:write');
  const all = useRef<readonly Emoji[]>([]);
  const list = useList<Emoji>(async (after) => {
    // The list is one answer; what is paged are its pictures.
    if (after === undefined) all.current = (await context.call('get /emoji', {})).items;
    const from = Number(after ?? 0);
    const next = from + SHOWN_AT_ONCE;
    return { items: all.current.slice(from, next), next: next < all.current.length ? String(next) : null };
  });
  return (
    <>
      <Hint>{t('emoji.hint')}</Hint>
      <DataTable
        caption="emoji.title"
        empty="emoji.empty"
        list={list}
        keyOf={({ name }) => name}
        columns={[
          { head: 'emoji.picture', cell: ({ name }) => <Picture name={name} /> },
          { head: 'column.name', cell: ({ name }) => `:${name}:` },
          { head: 'emoji.made-by', cell: ({ made_by: actor }) => <Maker actor={actor} /> },
          { head: 'column.since', cell: ({ created_at: at }) => <When at={at} /> },
          mayWrite && {
            head: 'column.actions',
            cell: ({ name }) => (
              <Work
                label="emoji.remove"
                size="xs"
                isDanger
                ask={t('emoji.remove-asked', { name })}
                work={async () => await context.call('delete /emoji/:emoji', { parameters: { emoji: name } })}
                done={list.reload}
              />
            ),
          },
        ]}
      />
      {mayWrite && (
        <Part title="emoji.make">
          <MakeEmoji made={list.reload} />
        </Part>
      )}
      <Part title="emoji.makers">
        <Makers />
      </Part>
    </>
  );
}

/** The page lets in no picture but its own and those in `data:`, and only a request with the token gets one. */
function Picture({ name }: { readonly name: string }) {
  const context = useScreenContext();
  const picture = useLoaded(async () => await context.call('get /emoji/:emoji', { parameters: { emoji: name } }));
  return (
    <LoadedPlace of={picture}>
      {({ picture: bytes, type }) => (
        <img className="emoji" alt={`:${harmlessName(name)}:`} src={`data:${type};base64,${bytes}`} />
      )}
    </LoadedPlace>
  );
}

/** People are led to; what else makes emoji has no page. */
function Maker({ actor }: { readonly actor: string }) {
  const context = useScreenContext();
  const user = actor.startsWith('user:') ? actor.slice('user:'.length) : undefined;
  if (user === undefined || !context.may('users:read')) return harmless(actor);
  return <ScreenLink to={`people/${encodeURIComponent(user)}`}>{user}</ScreenLink>;
}

function MakeEmoji({ made }: { readonly made: () => Promise<void> }) {
  const context = useScreenContext();
  const [isTooLarge, setTooLarge] = useState(false);
  return (
    <>
      {isTooLarge && (
        <p role="alert" className="bad">
          {t('emoji.too-large')}
        </p>
      )}
      <FieldsForm
        fields={{
          name: { label: 'emoji.name', hint: 'emoji.name-hint', isRequired: true, maxLength: 32, isName: true },
          picture: {
            kind: 'file',
            label: 'emoji.picture',
            hint: 'emoji.picture-hint',
            isRequired: true,
            accept: 'image/png,image/jpeg,image/gif,image/webp',
          },
        }}
        submit="action.create"
        isClearing
        send={async ({ name, picture }) => {
          if (picture === undefined) return;
          setTooLarge(picture.size > EMOJI_BYTES_MAX);
          if (picture.size > EMOJI_BYTES_MAX) return;
          const body = { name: name.trim().replaceAll(':', ''), picture: await base64Of(picture) };
          await context.call('post /emoji', { body });
          await made();
        }}
      />
    </>
  );
}

async function base64Of(file: Blob): Promise<string> {
  const { promise, reject, resolve } = Promise.withResolvers<string>();
  const reader = new FileReader();
  // `data:image/png;base64,…`
  reader.addEventListener('load', () => resolve((reader.result as string).replace(/^[^,]*,/, '')));
  reader.addEventListener('error', () => reject(reader.error ?? new Error('The picture could not be read.')));
  reader.readAsDataURL(file);
  return await promise;
}

/** Who may, as the settings say it: administrators always. */
function Makers() {
  const context = useScreenContext();
  const makers = useLoaded(async () => {
    const { values } = await context.api.settings('custom-emoji', undefined, context.signal);
    const listed = values['groups'];
    const named = (typeof listed === 'string' ? listed : '').split(/[\s,]+/).filter((id) => id !== '');
    const groups = named.length > 0 && context.may('users:read') ? (await context.call('get /groups', {})).items : [];
    const names = named.map((id) => groups.find((group) => group.id === id)?.name ?? id);
    return { isEverybody: values['everybody'] === true, names };
  });
  return (
    <LoadedPlace of={makers}>
      {({ isEverybody, names }) => (
        <>
          <p>{harmless(isEverybody ? t('emoji.everybody') : [t('emoji.administrators'), ...names].join(', '))}</p>
          <p>
            <ScreenLink to="settings/custom-emoji">{t('emoji.change-makers')}</ScreenLink>
          </p>
        </>
      )}
    </LoadedPlace>
  );
}
