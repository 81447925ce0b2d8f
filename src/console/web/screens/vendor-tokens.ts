/** Vendor tokens: issuing, the list, revoking (VND-01…05). */
import type { Input, ItemOf } from '../console-api.ts';
import { confirmed } from '../dialog.ts';
import { badge, element, fill, part, workButton } from '../elements.ts';
import { allOf, form, input, select, textarea } from '../form.ts';
import { t, when, word } from '../language.ts';
import { Listing } from '../listing.ts';
import { shownOnce } from '../shown-once.ts';
import type { Screen, ScreenContext } from '../screen-context.ts';

type Token = ItemOf<'get /vendor-tokens'>;

const VENDORS = allOf<Token['vendor']>({ parley: true, integrator: true, hosting: true });
const TERM_YEARS = [1, 2, 3] as const;
const YEAR_DAYS = 365;
const TONES = { active: 'good', revoked: 'bad', expired: 'plain' } as const;

export const vendorTokensScreen: Screen = {
  path: 'vendor-tokens',
  title: 'vendor.title',
  section: 'access',
  needs: 'access:write',
  isForVendors: false,
  show: (stage) => {
    const once = element('div');
    const listing = tokensListing(stage);
    // The break-glass account revokes and does not issue (VND-01).
    const isIssuer = stage.me.kind === 'person' && stage.me.role === 'owner';
    return [
      element('p', { class: 'hint' }, t('vendor.hint')),
      once,
      listing.element,
      ...(isIssuer
        ? [
            part(
              'vendor.issue',
              issueForm(stage, once, async () => await listing.reload()),
            ),
          ]
        : []),
    ];
  },
};

function tokensListing(stage: ScreenContext): Listing<Token> {
  const listing: Listing<Token> = new Listing<Token>({
    caption: 'vendor.title',
    empty: 'vendor.empty',
    load: async (after) => await stage.call('get /vendor-tokens', { query: { after } }),
    columns: [
      { head: 'column.name', cell: ({ name }) => name },
      { head: 'vendor.vendor', cell: ({ vendor }) => vendor },
      { head: 'vendor.purpose', cell: ({ purpose }) => purpose },
      { head: 'column.state', cell: (token) => stateOf(token) },
      { head: 'vendor.issued', cell: ({ issued_at: at, issued_by: by }) => [when(at), ' ', by] },
      { head: 'column.until', cell: ({ expires_at: until }) => when(until) },
      {
        head: 'vendor.used',
        cell: ({ last_used_at: at, last_used_address: address }) =>
          at === null ? t('list.never') : [when(at), ' ', address],
      },
      {
        head: 'column.actions',
        cell: (token) => token.state === 'active' && revokeButton(stage, token, async () => await listing.reload()),
      },
    ],
  });
  return listing;
}

function stateOf({ state, revoked_at: at, revoked_by: by }: Token): Node[] {
  const shown = badge(word('state', state), TONES[state]);
  return at === null ? [shown] : [shown, element('small', {}, ' ', when(at), ' ', by)];
}

function revokeButton(stage: ScreenContext, { id, name }: Token, reload: () => Promise<void>): HTMLElement {
  return workButton(
    'vendor.revoke',
    stage.notices,
    async () => {
      if (!(await confirmed('vendor.revoke', t('vendor.revoke-asked', { name }), 'vendor.revoke'))) return;
      await stage.call('post /vendor-tokens/:id/revoke', { parameters: { id } });
      stage.notices.say('vendor.revoked', { name });
      await reload();
    },
    { class: 'danger' },
  );
}

function issueForm(stage: ScreenContext, once: HTMLElement, reload: () => Promise<void>): HTMLElement {
  const name = input({ label: 'column.name', name: 'name', attributes: { required: true, maxlength: 100 } });
  const vendor = select({
    label: 'vendor.vendor',
    name: 'vendor',
    choices: VENDORS.map((value) => ({ value, label: value })),
  });
  const purpose = textarea({
    label: 'vendor.purpose',
    name: 'purpose',
    hint: 'vendor.purpose-hint',
    attributes: { required: true, maxlength: 500, rows: 2 },
  });
  const term = select({
    label: 'vendor.term',
    name: 'term_days',
    choices: TERM_YEARS.map((years) => ({ value: String(years * YEAR_DAYS), label: t(`vendor.years-${years}`) })),
  });
  const send = async () => {
    const body: Input<'post /vendor-tokens'>['body'] = {
      name: name.value.trim(),
      vendor: vendor.value as Token['vendor'],
      // One line of the trail, whatever the field lets somebody type.
      purpose: purpose.value.trim().replaceAll(/\s+/g, ' '),
      term_days: Number(term.value),
    };
    const { token } = await stage.call('post /vendor-tokens', { body });
    fill(once, shownOnce({ title: 'vendor.token', hint: 'vendor.token-hint', secret: token }));
    once.scrollIntoView();
    name.value = '';
    purpose.value = '';
    await reload();
  };
  return form({ submit: 'vendor.issue', parts: [name, vendor, purpose, term], send });
}
