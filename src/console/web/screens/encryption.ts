/** Encryption at rest: its state, unlocking, turning it on, rotations, coverage, and the recovery sheet. */
import type { ReplyOf } from '../console-api.ts';
import { confirmed } from '../dialog.ts';
import { badge, element, facts, fill, part, workButton, type Child } from '../elements.ts';
import { form, input, type Field } from '../form.ts';
import { formatNumber, t, when, word, type Key } from '../language.ts';
import { Listing, loaded } from '../listing.ts';
import { shownOnce } from '../shown-once.ts';
import type { Screen, ScreenContext } from '../screen-context.ts';

type State = ReplyOf<'get /encryption'>;
type Coverage = ReplyOf<'get /encryption/coverage'>;
type Sheet = ReplyOf<'get /encryption/recovery-sheet'>;

const TONES = { off: 'warning', locked: 'bad', unlocked: 'good' } as const;

export const encryptionScreen: Screen = {
  path: 'encryption',
  title: 'encryption.title',
  section: 'access',
  needs: 'access:write',
  isForVendors: false,
  show: (stage) => {
    const once = element('div');
    const reload = () => {
      state.reload();
      coverage.reload();
    };
    const state = loaded(
      async () => await stage.call('get /encryption', {}),
      (now) => showState(stage, now, once, reload),
    );
    const coverage = loaded(async () => await stage.call('get /encryption/coverage', {}), showCoverage);
    return [once, state, part('encryption.coverage', coverage)];
  },
};

function showState(stage: ScreenContext, state: State, once: HTMLElement, reload: () => void): Child[] {
  const {
    check_value: check,
    enabled_at: enabledAt,
    is_sealing: isSealing,
    master_key_id: id,
    master_key_since: since,
  } = state;
  return [
    facts(
      ['column.state', badge(word('encryption', state.state), TONES[state.state])],
      ['encryption.key', id],
      ['encryption.check', check],
      ['encryption.since', when(since)],
      ['encryption.enabled', when(enabledAt)],
      ['encryption.sealing', isSealing && t('encryption.under-way')],
    ),
    state.state === 'off' && part('encryption.enable', keyPart(stage, 'post /encryption/enable', once, reload)),
    state.state === 'locked' && part('encryption.unlock', unlockForm(stage, reload)),
    state.state === 'unlocked' &&
      part('encryption.rotate-master', keyPart(stage, 'post /encryption/rotate-master', once, reload)),
    state.state !== 'off' && element('div', { class: 'actions' }, actions(stage, state, once, reload)),
  ];
}

function keyField(hint: Key): Field {
  return input({
    label: 'encryption.master-key',
    name: 'master_key',
    hint,
    attributes: { type: 'password', required: true, pattern: '[0-9a-fA-F]{64}', maxlength: 64, spellcheck: 'false' },
  });
}

function unlockForm(stage: ScreenContext, reload: () => void): HTMLElement {
  const key = keyField('encryption.key-hint');
  const send = async () => {
    await stage.call('post /encryption/unlock', { body: { master_key: key.value } });
    stage.notices.say('notice.done');
    reload();
  };
  return form({ submit: 'encryption.unlock', parts: [key], send });
}

/** A new master key: proposed, kept by its reader, and given back, which proves that it was kept. */
function keyPart(
  stage: ScreenContext,
  route: 'post /encryption/enable' | 'post /encryption/rotate-master',
  once: HTMLElement,
  reload: () => void,
): Child[] {
  const proposed = element('div');
  const propose = workButton('encryption.propose', stage.notices, async () => {
    const { master_key: key } = await stage.call('post /encryption/propose', {});
    const file = 'parley-master-key.txt';
    fill(proposed, shownOnce({ title: 'encryption.master-key', hint: 'encryption.propose-hint', secret: key, file }));
  });
  const key = keyField('encryption.back-hint');
  const send = async () => {
    const sheet = await stage.call(route, { body: { master_key: key.value } });
    key.value = '';
    showSheet(once, sheet);
    stage.notices.say('notice.done');
    reload();
  };
  const submit = route === 'post /encryption/enable' ? 'encryption.enable' : 'encryption.rotate-master';
  return [
    element('p', {}, t('encryption.enable-hint')),
    element('div', { class: 'actions' }, propose),
    proposed,
    form({ submit, parts: [key], send }),
  ];
}

function actions(stage: ScreenContext, { state }: State, once: HTMLElement, reload: () => void): Child[] {
  const { notices } = stage;
  const sheet = workButton('encryption.sheet', notices, async () => {
    showSheet(once, await stage.call('get /encryption/recovery-sheet', {}));
  });
  if (state === 'locked') return [sheet];
  const rotate = workButton('encryption.rotate-data', notices, async () => {
    await stage.call('post /encryption/rotate-data', {});
    notices.say('notice.done');
    reload();
  });
  const lock = workButton(
    'encryption.lock',
    notices,
    async () => {
      if (!(await confirmed('encryption.lock', t('encryption.lock-asked'), 'encryption.lock'))) return;
      await stage.call('post /encryption/lock', {});
      notices.say('notice.done');
      reload();
    },
    { class: 'danger' },
  );
  return [sheet, rotate, lock];
}

/** The sheet as a text to print or to keep. */
function showSheet(once: HTMLElement, sheet: Sheet): void {
  const lines = [
    `master key id: ${sheet.master_key_id}`,
    `check value: ${sheet.check_value}`,
    `master key since: ${sheet.master_key_since}`,
    `encryption since: ${sheet.enabled_at}`,
    `printed: ${sheet.printed_at}`,
    ...sheet.data_keys.map(({ id, created_at: at }) => `data key: ${id} ${at}`),
    ...(sheet.master_key === null ? [] : [`master key: ${sheet.master_key}`]),
    '',
    ...sheet.steps.map((step, at) => `${at + 1}. ${step}`),
  ];
  const file = 'parley-recovery-sheet.txt';
  fill(once, shownOnce({ title: 'encryption.sheet', hint: 'encryption.sheet-hint', secret: lines.join('\n'), file }));
  once.scrollIntoView();
}

function showCoverage({ attachments, damaged, keys, plain, purposes, sealed }: Coverage): Child[] {
  return [
    facts(
      ['encryption.sealed', formatNumber(sealed)],
      ['encryption.plain', formatNumber(plain)],
      ['encryption.files-sealed', formatNumber(attachments.sealed)],
      ['encryption.files-plain', formatNumber(attachments.plain)],
      [
        'encryption.damaged',
        damaged.count === 0
          ? t('list.none')
          : [badge(formatNumber(damaged.count), 'bad'), ' ', damaged.names.join(', ')],
      ],
    ),
    new Listing<Coverage['purposes'][number]>({
      caption: 'encryption.purposes',
      empty: 'list.empty',
      load: async () => ({ items: purposes, next: null }),
      columns: [
        { head: 'encryption.purpose', cell: ({ purpose }) => purpose },
        { head: 'encryption.sealed', cell: (each) => formatNumber(each.sealed) },
        { head: 'encryption.plain', cell: (each) => formatNumber(each.plain) },
      ],
    }).element,
    new Listing<Coverage['keys'][number]>({
      caption: 'encryption.keys',
      empty: 'list.empty',
      load: async () => ({ items: keys, next: null }),
      columns: [
        { head: 'encryption.key', cell: ({ id }) => id },
        { head: 'column.since', cell: ({ created_at: at }) => when(at) },
        {
          head: 'column.state',
          cell: ({ is_current: isCurrent }) => isCurrent && badge(t('encryption.current'), 'good'),
        },
        { head: 'encryption.secrets', cell: ({ secrets }) => formatNumber(secrets) },
      ],
    }).element,
  ];
}
