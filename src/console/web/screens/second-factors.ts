/** Second factors: one's own, those of everybody for owners, and the break-glass account (TFA-01, TFA-02). */
import type { ItemOf } from '../console-api.ts';
import { confirmed } from '../dialog.ts';
import { badge, button, element, facts, fill, part, workButton, type Child } from '../elements.ts';
import { form, input } from '../form.ts';
import { t, when } from '../language.ts';
import { Listing, loaded } from '../listing.ts';
import { recoveryCodesCard, setUpSecondFactor, totpFigure } from '../second-factor-setup.ts';
import { codeField } from '../sign-in.ts';
import { hasPasskeys, makePasskey } from '#src/client/passkey.ts';
import type { Screen, ScreenContext } from '../screen-context.ts';

export const accountScreen: Screen = {
  path: 'account',
  title: 'account.title',
  section: 'access',
  isForVendors: false,
  // The provider keeps the factor of those who sign in there, and break-glass has its own.
  isFor: ({ kind, sign_in: signIn }) => kind === 'person' && signIn === 'password',
  show: (stage) => {
    const place = element('div');
    const code = codeField();
    const send = async () => {
      const body = { code: code.value.trim() };
      const { recovery_codes: codes } = await stage.call('post /second-factor/recovery-codes', { body });
      code.value = '';
      fill(
        place,
        recoveryCodesCard(codes, () => undefined),
      );
    };
    const done = () => {
      fill(place);
      stage.notices.say('notice.done');
    };
    const replace = button('account.replace', () => {
      fill(place, setUpSecondFactor({ api: { call: async (name, given) => await stage.call(name, given) }, done }));
    });
    return [
      place,
      ...(hasPasskeys() ? [passkeysPart(stage)] : []),
      part(
        'account.codes',
        element('p', {}, t('account.codes-hint')),
        form({ submit: 'account.codes', parts: [code], send }),
      ),
      part(
        'account.replace',
        element('p', {}, t('account.replace-hint')),
        element('div', { class: 'actions' }, replace),
      ),
    ];
  },
};

/** The person's passkeys, and adding one. */
function passkeysPart(stage: ScreenContext): HTMLElement {
  const listing: Listing<ItemOf<'get /second-factor/passkeys'>> = new Listing<ItemOf<'get /second-factor/passkeys'>>({
    caption: 'account.passkeys',
    empty: 'account.no-passkeys',
    load: async () => await stage.call('get /second-factor/passkeys', {}),
    columns: [
      { head: 'column.name', cell: ({ name }) => name },
      { head: 'column.since', cell: ({ created_at: since }) => when(since) },
      { head: 'vendor.used', cell: ({ last_used_at: used }) => (used === null ? t('list.never') : when(used)) },
      {
        head: 'column.actions',
        cell: ({ id }) =>
          workButton('account.passkey-remove', stage.notices, async () => {
            await stage.call('delete /second-factor/passkeys/:passkey', { parameters: { passkey: id } });
            await listing.reload();
          }),
      },
    ],
  });
  const name = input({ label: 'account.passkey-name', name: 'name', attributes: { required: true, maxlength: 100 } });
  const send = async () => {
    const passkey = await makePasskey(await stage.call('get /second-factor/passkeys/options', {}));
    await stage.call('post /second-factor/passkeys', { body: { name: name.value.trim(), passkey } });
    name.value = '';
    stage.notices.say('notice.done');
    await listing.reload();
  };
  return part('account.passkeys', listing.element, form({ submit: 'account.passkey-add', parts: [name], send }));
}

export const secondFactorsScreen: Screen = {
  path: 'second-factors',
  title: 'factors.title',
  section: 'access',
  needs: 'access:write',
  isForVendors: false,
  show: (stage) => {
    const listing: Listing<ItemOf<'get /second-factors'>> = new Listing<ItemOf<'get /second-factors'>>({
      caption: 'factors.title',
      empty: 'factors.empty',
      load: async (after) => await stage.call('get /second-factors', { query: { after } }),
      columns: [
        { head: 'people.user', cell: ({ user }) => user },
        { head: 'column.since', cell: ({ since }) => when(since) },
        { head: 'factors.codes', cell: ({ recovery_codes_left: left }) => left },
        {
          head: 'column.actions',
          cell: ({ user }) =>
            workButton('factors.remove', stage.notices, async () => {
              if (!(await confirmed('factors.remove', t('factors.remove-asked', { user }), 'factors.remove'))) return;
              await stage.call('delete /second-factors/:user', { parameters: { user } });
              stage.notices.say('notice.done');
              await listing.reload();
            }),
        },
      ],
    });
    return [listing.element];
  },
};

export const breakGlassScreen: Screen = {
  path: 'break-glass',
  title: 'break-glass.title',
  section: 'access',
  needs: 'access:write',
  isForVendors: false,
  show: (stage) => {
    const once = element('div');
    const state = loaded(async () => await stage.call('get /break-glass', {}), showState);
    return [
      element('p', { class: 'hint' }, t('break-glass.hint')),
      state,
      once,
      part(
        'break-glass.set',
        setForm(stage, once, () => state.reload()),
      ),
    ];
  },
};

interface BreakGlassState {
  readonly is_set: boolean;
  readonly set_at: string | null;
  readonly set_by: string | null;
  readonly last_used_at: string | null;
  readonly last_used_address: string | null;
}

function showState(state: BreakGlassState): Child[] {
  const { is_set: isSet, last_used_address: address, last_used_at: usedAt, set_at: setAt, set_by: setBy } = state;
  return [
    facts(
      ['column.state', badge(t(isSet ? 'break-glass.is-set' : 'break-glass.not-set'), isSet ? 'good' : 'warning')],
      ['break-glass.set-at', isSet && [when(setAt), ' ', setBy]],
      ['vendor.used', usedAt === null ? t('list.never') : [when(usedAt), ' ', address]],
    ),
  ];
}

function setForm(stage: ScreenContext, once: HTMLElement, reload: () => void): HTMLElement {
  const password = input({
    label: 'sign-in.password',
    name: 'password',
    attributes: { type: 'password', autocomplete: 'new-password', required: true, minlength: 8, maxlength: 256 },
  });
  const send = async () => {
    const setup = await stage.call('put /break-glass', { body: { password: password.value } });
    password.value = '';
    const kept = button('action.kept', () => fill(once), { class: 'primary' });
    fill(
      once,
      element('section', { class: 'card once' }, element('p', {}, t('break-glass.once')), totpFigure(setup), kept),
    );
    reload();
  };
  return form({ submit: 'break-glass.set', parts: [password], send });
}
