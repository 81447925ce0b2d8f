/** Automations: webhooks on events, and what became of each delivery. */
import type { Input, ItemOf } from '../console-api.ts';
import { confirmed, showDialog } from '../dialog.ts';
import { badge, button, element, link, part, workButton } from '../elements.ts';
import { form, input, textarea } from '../form.ts';
import { t, when, word } from '../language.ts';
import { Listing } from '../listing.ts';
import type { Screen, ScreenContext } from '../screen-context.ts';
import { namesIn } from './people/groups.ts';

type Automation = ItemOf<'get /automations'>;
type Run = ItemOf<'get /automations/:id/runs'>;

const TONES = { pending: 'warning', delivered: 'good', failed: 'bad', dropped: 'bad' } as const;

export const automationsScreen: Screen = {
  path: 'automations',
  title: 'automations.title',
  section: 'access',
  needs: 'settings:read',
  isForVendors: false,
  show: (stage) => {
    const [id] = stage.place.rest;
    if (id !== undefined) return showRuns(stage, id);
    const listing: Listing<Automation> = new Listing<Automation>({
      caption: 'automations.title',
      empty: 'automations.empty',
      load: async () => await stage.call('get /automations', {}),
      columns: [
        { head: 'column.name', cell: ({ id: of, name }) => link(`automations/${of}`, name) },
        {
          head: 'column.state',
          cell: ({ enabled }) => badge(t(enabled ? 'automations.on' : 'automations.off'), enabled ? 'good' : 'plain'),
        },
        { head: 'automations.events', cell: ({ events }) => events.join(', ') },
        { head: 'automations.url', cell: ({ url }) => url },
        { head: 'column.since', cell: ({ created_at: at, created_by: by }) => [when(at), ' ', by] },
        {
          head: 'column.actions',
          cell: (automation) =>
            stage.may('settings:write') && actions(stage, automation, async () => await listing.reload()),
        },
      ],
    });
    if (!stage.may('settings:write')) return [listing.element];
    const fields = automationFields();
    const send = async () => {
      const body: Input<'post /automations'>['body'] = { ...fields.read(), secret: fields.secret.value };
      await stage.call('post /automations', { body });
      stage.notices.say('notice.done');
      await listing.reload();
    };
    return [listing.element, part('automations.add', form({ submit: 'action.create', parts: fields.parts, send }))];
  },
};

function actions(stage: ScreenContext, automation: Automation, reload: () => Promise<void>): Node[] {
  const parameters = { id: automation.id };
  const change = button('action.change', () => {
    const fields = automationFields(automation);
    const send = async () => {
      const secret = fields.secret.value === '' ? {} : { secret: fields.secret.value };
      await stage.call('patch /automations/:id', { parameters, body: { ...fields.read(), ...secret } });
      dialog.close();
      stage.notices.say('notice.done');
      await reload();
    };
    const dialog = showDialog('action.change', form({ submit: 'action.save', parts: fields.parts, send }));
  });
  const turn = workButton(
    automation.enabled ? 'automations.turn-off' : 'automations.turn-on',
    stage.notices,
    async () => {
      await stage.call('patch /automations/:id', { parameters, body: { enabled: !automation.enabled } });
      await reload();
    },
  );
  const remove = workButton('action.delete', stage.notices, async () => {
    if (
      !(await confirmed(
        'automations.delete',
        t('automations.delete-asked', { name: automation.name }),
        'action.delete',
      ))
    )
      return;
    await stage.call('delete /automations/:id', { parameters });
    stage.notices.say('notice.done');
    await reload();
  });
  return [change, turn, remove];
}

function automationFields(automation?: Automation) {
  const name = input({
    label: 'column.name',
    name: 'name',
    attributes: { required: true, maxlength: 100, value: automation?.name ?? '' },
  });
  const events = textarea({
    label: 'automations.events',
    name: 'events',
    hint: 'automations.events-hint',
    attributes: { required: true, rows: 3, spellcheck: 'false' },
  });
  events.value = automation?.events.join('\n') ?? '';
  const url = input({
    label: 'automations.url',
    name: 'url',
    attributes: { type: 'url', required: true, maxlength: 2000, value: automation?.url ?? '' },
  });
  const secret = input({
    label: 'automations.secret',
    name: 'secret',
    hint: automation === undefined ? 'automations.secret-hint' : 'settings.secret-hint',
    attributes: { type: 'password', required: automation === undefined, minlength: 16, maxlength: 256 },
  });
  const read = () => ({ name: name.value.trim(), events: namesIn(events.value), url: url.value.trim() });
  return { parts: [name, events, url, secret], secret, read };
}

function showRuns(stage: ScreenContext, id: string): readonly Node[] {
  const parameters = { id };
  const listing = new Listing<Run>({
    caption: 'automations.runs',
    empty: 'automations.no-runs',
    load: async (after) => await stage.call('get /automations/:id/runs', { parameters, query: { after } }),
    columns: [
      { head: 'column.time', cell: ({ created_at: at }) => when(at) },
      { head: 'audit.event', cell: ({ event }) => element('code', {}, event) },
      { head: 'column.state', cell: ({ state }) => badge(word('run', state), TONES[state]) },
      { head: 'automations.attempts', cell: ({ attempts }) => attempts },
      { head: 'automations.status', cell: ({ reason, status }) => [status, ' ', reason] },
      {
        head: 'column.details',
        cell: ({ message, reply }) =>
          button('action.show', () => {
            const texts = [message, reply].filter((text) => text !== null);
            showDialog(
              'column.details',
              texts.map((text) => element('pre', { class: 'journal', tabindex: '0' }, text)),
            );
          }),
      },
    ],
  });
  return [element('p', {}, link('automations', t('automations.back'))), listing.element];
}
