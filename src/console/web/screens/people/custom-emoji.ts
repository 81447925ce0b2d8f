/** Emoji of the installation's own: their pictures, who made them, who may, and making and removing them. */
import { EMOJI_BYTES_MAX } from '#src/protocol/limits.ts';
import type { ItemOf } from '../../console-api.ts';
import { confirmed } from '../../dialog.ts';
import { element, link, part, workButton, type Child } from '../../elements.ts';
import { Field, form, input } from '../../form.ts';
import { t, when } from '../../language.ts';
import { Listing, loaded } from '../../listing.ts';
import type { Screen, ScreenContext } from '../../screen-context.ts';

type Emoji = ItemOf<'get /emoji'>;

/** Shown at once: each has a picture that is asked for. */
const SHOWN_AT_ONCE = 50;

export const customEmojiScreen: Screen = {
  path: 'emoji',
  title: 'emoji.title',
  section: 'people',
  needs: 'settings:read',
  isForVendors: false,
  show: (stage) => {
    const listing = emojiListing(stage);
    const mayWrite = stage.may('settings:write');
    return [
      element('p', { class: 'hint' }, t('emoji.hint')),
      listing.element,
      ...(mayWrite
        ? [
            part(
              'emoji.make',
              makeForm(stage, async () => await listing.reload()),
            ),
          ]
        : []),
      part('emoji.makers', makers(stage)),
    ];
  },
};

function emojiListing(stage: ScreenContext): Listing<Emoji> {
  let all: readonly Emoji[] = [];
  const listing: Listing<Emoji> = new Listing<Emoji>({
    caption: 'emoji.title',
    empty: 'emoji.empty',
    load: async (after) => {
      // The list is one answer; what is paged are its pictures.
      if (after === undefined) all = (await stage.call('get /emoji', {})).items;
      const from = Number(after ?? 0);
      const next = from + SHOWN_AT_ONCE;
      return { items: all.slice(from, next), next: next < all.length ? String(next) : null };
    },
    columns: [
      { head: 'emoji.picture', cell: (emoji) => picture(stage, emoji) },
      { head: 'column.name', cell: ({ name }) => `:${name}:` },
      { head: 'emoji.made-by', cell: ({ made_by: actor }) => maker(stage, actor) },
      { head: 'column.since', cell: ({ created_at: at }) => when(at) },
      { head: 'column.actions', cell: (emoji) => remover(stage, emoji, async () => await listing.reload()) },
    ],
  });
  return listing;
}

/** The page lets in no picture but its own and those in `data:`, and only a request with the token gets one. */
function picture(stage: ScreenContext, { name }: Emoji): HTMLElement {
  return loaded(
    async () => await stage.call('get /emoji/:emoji', { parameters: { emoji: name } }),
    ({ picture: bytes, type }) => [
      element('img', { class: 'emoji', alt: `:${name}:`, src: `data:${type};base64,${bytes}` }),
    ],
  );
}

/** People are led to; what else makes emoji has no page. */
function maker(stage: ScreenContext, actor: string): Child {
  const user = actor.startsWith('user:') ? actor.slice('user:'.length) : undefined;
  return user === undefined || !stage.may('users:read') ? actor : link(`people/${encodeURIComponent(user)}`, user);
}

function remover(stage: ScreenContext, { name }: Emoji, reload: () => Promise<void>): Child {
  if (!stage.may('settings:write')) return null;
  const work = async () => {
    if (!(await confirmed('emoji.remove', t('emoji.remove-asked', { name }), 'emoji.remove'))) return;
    await stage.call('delete /emoji/:emoji', { parameters: { emoji: name } });
    stage.notices.say('notice.done');
    await reload();
  };
  return workButton('emoji.remove', stage.notices, work, { class: 'danger' });
}

function makeForm(stage: ScreenContext, reload: () => Promise<void>): HTMLElement {
  const name = input({
    label: 'emoji.name',
    name: 'name',
    hint: 'emoji.name-hint',
    attributes: { required: true, maxlength: 32, spellcheck: 'false', autocapitalize: 'none' },
  });
  const chooser = element('input', {
    type: 'file',
    required: true,
    accept: 'image/png,image/jpeg,image/gif,image/webp',
  });
  const file = new Field(chooser, { label: 'emoji.picture', name: 'picture', hint: 'emoji.picture-hint' });
  const send = async () => {
    const chosen = chooser.files?.[0];
    if (chosen === undefined) return;
    if (chosen.size > EMOJI_BYTES_MAX) return file.blame(t('emoji.too-large'));
    const body = { name: name.value.trim().replaceAll(':', ''), picture: await base64Of(chosen) };
    await stage.call('post /emoji', { body });
    name.value = '';
    file.value = '';
    await reload();
  };
  return form({ submit: 'action.create', parts: [name, file], send });
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
function makers(stage: ScreenContext): HTMLElement {
  return loaded(
    async () => {
      const { values } = await stage.api.settings('custom-emoji', undefined, stage.signal);
      const listed = values['groups'];
      const named = (typeof listed === 'string' ? listed : '').split(/[\s,]+/).filter((id) => id !== '');
      const groups = named.length > 0 && stage.may('users:read') ? (await stage.call('get /groups', {})).items : [];
      const names = named.map((id) => groups.find((group) => group.id === id)?.name ?? id);
      return { isEverybody: values['everybody'] === true, names };
    },
    ({ isEverybody, names }) => [
      element('p', {}, isEverybody ? t('emoji.everybody') : [t('emoji.administrators'), ...names].join(', ')),
      element('p', {}, link('settings/custom-emoji', t('emoji.change-makers'))),
    ],
  );
}
