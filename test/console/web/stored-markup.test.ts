/**
 * Words that were put into the installation to become something else where an administrator reads them: markup, scripts, links that
 * run, templates, marks that turn the writing round or pile up, words without end. Without Chromium it is skipped.
 */
import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { request } from '#test/support/server.ts';
import { startConsoleServer, type ConsoleServer } from '#test/console/console-server.ts';
import { buildApp } from '#test/web/built-app.ts';
import { CHROMIUM, NARROW, People, WIDE } from '#test/web/browser.ts';
import { ConsolePage } from './console-page.ts';
import { hostileAnswer } from './hostile-answers.ts';

/** Would run in a page that makes elements of text, or a template of it. */
const SCRIPT = 'window.__hit=1';
const MARKUP = `"'><img data-hit src=x onerror="${SCRIPT}"><script data-hit>${SCRIPT}</script><svg data-hit onload="${SCRIPT}">`;
const TEMPLATE = `{{constructor.constructor('${SCRIPT}')()}}\${${SCRIPT}}$t(action.save){{count}}`;
/** Turn the writing round, and are not seen. */
const TURNED = '\u202Egnp.exe\u202C\u2066a\u2067b\u2069\u200Bc\u2060d\uFEFFe\u00ADf\u{E0041}g';
const PILED = `z${'\u0301'.repeat(1_000)}`;
const WORDS: Readonly<Record<string, string>> = {
  'markup, templates and marks': `hit${PILED}${TURNED}${MARKUP}${TEMPLATE}`,
  'a link that runs': `javascript:${SCRIPT}//hit`,
  'a word without end': `hit${'W'.repeat(10_000)}`,
};

/** Screens on which nobody else's words stand before something is asked for. */
const WITHOUT_WORDS = ['#/recovery', '#/break-glass', '#/settings', '#/message-export'];

/** Where hostile words get in; nowhere is a name or title refused for what stands in it. */
const DOORS = [
  'AI',
  'a bot',
  'a client of SCIM',
  'a device',
  'a group',
  'a hold',
  'a hook',
  'a meeting',
  'a person',
  'a profile',
  'a provider',
  'a resource',
  'a room',
  'a rule',
  'a vendor token',
  'an account at a provider',
  'an automation',
  'commands of a bot',
  'health',
  'mail',
  'reports',
];

/** What is wrong with what is shown: a sentence for each. */
const LOOK = `(() => {
  const faults = [];
  if (window.__hit !== undefined) faults.push('a script ran');
  for (const refused of window.__refused) faults.push('the policy had to refuse ' + refused);
  for (const one of document.querySelectorAll('[data-hit]')) faults.push('an element was made: ' + one.outerHTML.slice(0, 80));
  for (const one of document.querySelectorAll('[href], [src], [action]')) {
    const to = one.getAttribute('href') ?? one.getAttribute('src') ?? one.getAttribute('action');
    if (!/^(?:[#/.]|https?:|data:image\\/)/.test(to)) faults.push('it leads to ' + to.slice(0, 80));
  }
  const root = document.documentElement;
  if (root.scrollWidth > innerWidth) faults.push('the page is ' + root.scrollWidth + ' wide of ' + innerWidth);
  const main = document.querySelector('main');
  if (main !== null && main.scrollWidth > main.clientWidth) {
    const wide = [...main.querySelectorAll('*')].filter((one) => one.getBoundingClientRect().right > main.getBoundingClientRect().right + 1 && one.closest('.scroll') === null);
    faults.push('the screen is ' + main.scrollWidth + ' wide of ' + main.clientWidth + ': ' + [...wide].slice(0, 3).map((one) => one.outerHTML.slice(0, 120)).join(' AND '));
  }
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) if (!['SCRIPT', 'STYLE', 'TEXTAREA'].includes(walker.currentNode.parentElement.tagName)) texts.push([walker.currentNode.parentElement, walker.currentNode.data]);
  for (const one of document.querySelectorAll('[aria-label], [title], [alt], [placeholder]'))
    for (const name of ['aria-label', 'title', 'alt', 'placeholder'])
      if (one.hasAttribute(name)) texts.push([one, one.getAttribute(name)]);
  for (const [where, text] of texts) {
    const fault = (what) => faults.push(what + ' in ' + where.outerHTML.slice(0, 100));
    if (/[\\u202a-\\u202e\\u2066-\\u2069]/.test(text)) fault('it turns the writing round');
    if (where.tagName !== 'PRE' && /[\\u200b\\u2060\\ufeff\\u00ad\\u{e0041}]/u.test(text)) fault('what is not seen is');
    if (text.includes('constructor(') && /[$]t[(]action|count/.test(text) && !/[$]t[(]action[.]save[)][{][{]count[}][}]/.test(text)) fault('a template was filled in');
    if (/\\p{M}{5}/u.test(text)) fault('marks pile up');
  }
  return { faults: [...new Set(faults)], hits: texts.filter(([, text]) => text.includes('hit')).length };
})()`;

describe('hostile words in the console', { skip: CHROMIUM === undefined && 'no Chromium on this machine' }, () => {
  let console: ConsoleServer;
  let people: People;
  let browser: ConsolePage;
  /** What every text of every answer is; undefined where the server answers. */
  let word: string | undefined;
  before(async () => {
    buildApp();
    console = await startConsoleServer();
    people = await People.start();
    browser = await open();
    // Whatever a screen shows it asks for when it is opened: a walk begins on another one than its first.
    await browser.open('#/people');
  });
  after(async () => {
    await people?.stop();
    await console?.stop();
  });

  /** The console of the owner, in a page that keeps what its policy refused. */
  const open = async (): Promise<ConsolePage> => {
    const page = await people.person();
    const token = console.callers.owner['x-admin-token'] as string;
    await page.addInitScript(`
      window.__refused = [];
      addEventListener('securitypolicyviolation', ({ violatedDirective, sample }) => window.__refused.push(violatedDirective + ' ' + sample));
      sessionStorage.setItem('parley.console.credential', ${JSON.stringify(JSON.stringify({ token, idleSeconds: null, expiresAt: null }))});
    `);
    page.on('dialog', (dialog) => {
      people.complaints.push(`a dialog said ${dialog.message()}`);
      void dialog.dismiss();
    });
    await page.route('**/admin/api/**', async (route) => {
      const asked = route.request();
      const made = word === undefined ? undefined : hostileAnswer(asked.method(), asked.url(), word);
      if (made === undefined || made.path === '/me') return await route.fallback();
      return await route.fulfill({ json: made.body });
    });
    await page.goto(`${console.server.coordinator}/console/`);
    const opened = new ConsolePage(page);
    await opened.sees('owner · Owner');
    return opened;
  };

  /** Asks each question that the screen has, and takes it back. */
  const askAll = async (place: string): Promise<string[]> => {
    const faults: string[] = [];
    const dangers = browser.page.locator('main button.danger').filter({ visible: true });
    for (let at = 0; at < (await dangers.count()); at += 1) {
      await dangers.nth(at).click();
      const dialog = browser.page.locator('[role=dialog]').filter({ visible: true });
      await dialog.waitFor();
      questions += 1;
      faults.push(...(await lookAt(`${place}, asked`)).faults);
      const inside = await dialog.evaluate((one) => one.scrollWidth - one.clientWidth);
      if (inside > 0) faults.push(`${place}: a question is ${inside} too wide`);
      await browser.page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'hidden' });
    }
    return faults;
  };
  let questions = 0;

  /** What is wrong with a screen at both widths. */
  const lookAt = async (place: string): Promise<{ faults: string[]; hits: number }> => {
    const faults: string[] = [];
    let hits = 0;
    for (const size of [WIDE, NARROW]) {
      await browser.page.setViewportSize(size);
      await browser.page.evaluate('for (const one of document.querySelectorAll("details")) one.open = true');
      const seen = await browser.read<{ faults: string[]; hits: number }>(LOOK);
      faults.push(...seen.faults.map((fault) => `${place} at ${size.width}: ${fault}`));
      hits = seen.hits;
    }
    return { faults, hits };
  };

  /** All screens of the menu, and the first page below each. */
  const walk = async () => {
    const faults: string[] = [];
    const silent: string[] = [];
    for (const place of await browser.places()) {
      await browser.page.setViewportSize(WIDE);
      await browser.open(place);
      const seen = await lookAt(place);
      faults.push(...seen.faults);
      if (seen.hits === 0) silent.push(place);
      const below = await browser.read<string | undefined>(
        `document.querySelector(${JSON.stringify(`main a[href^="${place}/"]`)})?.hash`,
      );
      if (below === undefined) continue;
      await browser.page.setViewportSize(WIDE);
      await browser.open(below);
      faults.push(...(await lookAt(`${place}/…`)).faults);
      faults.push(...(await askAll(`${place}/…`)));
    }
    return { faults, silent };
  };

  for (const [name, text] of Object.entries(WORDS)) {
    test(`CON-01 ${name}, in every text of every answer, changes nothing on any screen`, async () => {
      word = text;
      const { faults, silent } = await walk();
      assert.deepEqual(faults, []);
      assert.deepEqual(silent, WITHOUT_WORDS, 'screens that show no word of others');
      assert.ok(questions > 5, `${questions} questions were asked`);
      assert.deepEqual(people.complaints, []);
    });
  }

  test('CON-01 what people, bots, hosts and machines put in at their own doors changes nothing on any screen', async () => {
    const { call, callers, server } = console;
    const taken: string[] = [];
    /** At a door that takes it, or refuses it by a code; nothing else may come of it. */
    const put = async <T = Record<string, string>>(
      door: string,
      ask: Promise<{ status: number; text: string; body: T }>,
    ): Promise<T> => {
      const { body, status, text } = await ask;
      assert.ok(status < 500, `${door} answered ${status} ${text}`);
      if (status < 300) taken.push(door);
      else assert.match(text, /"code":"\w+"/, door);
      return body;
    };
    const eve = await server.person('eve');
    const bearer = { authorization: `Bearer ${eve.session.token}` };
    const owned = async (door: string, method: string, path: string, body: unknown) =>
      await put(door, call('owner', method, path, { body }));
    for (const [at, text] of Object.values(WORDS).entries()) {
      const fit = (most: number) => text.slice(0, most).toWellFormed();
      const device = { name: fit(100), platform: fit(32) };
      const login = { username: 'eve', password: eve.password, device };
      await put('a device', request('POST', `${server.coordinator}/v1/auth/login`, { body: login }));
      const stranger = { username: fit(64), password: fit(256), device };
      const seen = { 'user-agent': fit(300).replaceAll(/[^\x20-\x7e]/g, '?'), 'x-forwarded-for': '<b data-hit>1</b>' };
      await put(
        'a failed sign-in',
        request('POST', `${server.coordinator}/v1/auth/login`, { body: stranger, headers: seen }),
      );
      await put(
        'a failed sign-in to the console',
        call('nobody', 'POST', '/login', { body: { username: fit(64), password: fit(256) }, headers: seen }),
      );
      const profile = { display_name: fit(100), title: fit(100), status: { text: fit(100) } };
      await put('a profile', request('PATCH', `${server.coordinator}/v1/me`, { body: profile, headers: bearer }));
      const room = await put<{ id: string }>(
        'a room',
        server.api(eve, 'POST', '/v1/conversations', {
          kind: 'room',
          title: fit(100),
          topic: fit(300),
          participants: [],
        }),
      );
      await put('a hook', server.api(eve, 'POST', `/v1/conversations/${room.id}/webhooks`, { name: fit(100) }));
      await put(
        'a meeting',
        request('POST', `${server.coordinator}/v1/meetings`, {
          body: { title: fit(200), starts_at: '2027-01-01T10:00:00Z', ends_at: '2027-01-01T11:00:00Z' },
          headers: bearer,
        }),
      );
      const bot = await owned('a bot', 'POST', '/bots', {
        name: `bot${at}`,
        display_name: fit(100),
        scopes: ['commands:write'],
        conversations: [],
      });
      await put(
        'commands of a bot',
        request('PUT', `${server.messaging}/v1/bots/self/commands`, {
          body: { commands: [{ name: 'x', description: fit(100), usage: fit(100) }] },
          token: bot['token'],
        }),
      );
      await owned('an automation', 'POST', '/automations', {
        name: fit(100),
        events: ['user.created'],
        url: at === 1 ? text : `https://example.org/${encodeURIComponent(fit(80))}`,
        secret: 'x'.repeat(16),
      });
      const group = await owned('a group', 'POST', '/groups', { name: fit(100), members: ['eve'] });
      await owned('a rule', 'POST', '/policies', {
        action: 'call',
        from: group['id'],
        to: 'everyone',
        effect: 'allow',
        position: 1,
      });
      await owned('a resource', 'POST', '/resources', { kind: 'room', name: fit(100), place: fit(200) });
      await owned('a client of SCIM', 'POST', '/scim-clients', { name: fit(100) });
      await owned('a provider', 'PUT', `/sso/providers/p${at}`, {
        name: fit(100),
        issuer: 'https://example.org',
        client_id: fit(200),
        client_secret: 'x',
      });
      await owned('an account at a provider', 'PUT', `/sso/providers/p${at}/identities/eve`, { subject: fit(255) });
      await owned('a vendor token', 'POST', '/vendor-tokens', {
        name: fit(100),
        vendor: 'parley',
        purpose: fit(500),
        term_days: 365,
      });
      await owned('a person', 'POST', '/users', {
        username: `made${at}`,
        password: `a long password ${at}`,
        display_name: fit(100),
        title: fit(100),
      });
      await owned('a hold', 'PUT', `/conversations/${room.id}/hold`, { held: true });
      await owned('TURN', 'PUT', '/settings/turn', { uris: fit(1_000), secret: fit(100) });
      await owned('mail', 'PUT', '/settings/mail', { smtp_host: 'mail.example.org', smtp_username: fit(200) });
      await owned('AI', 'PUT', '/settings/ai-keys', { model: fit(200) });
      const said = async (path: string, body: unknown) =>
        await put(
          path,
          request('POST', `${server.coordinator}/v1/nodes/self/${path}`, { body, headers: callers.node }),
        );
      const line = { at: '2026-11-22T10:00:00Z', unit: fit(128), level: 'error', line: fit(4_096) };
      await said('health', {
        agent_version: fit(64),
        uptime_seconds: 1,
        load: [1, 1, 1],
        memory: { total_bytes: 1, available_bytes: 1 },
        disks: [{ path: fit(256), total_bytes: 1, free_bytes: 1 }],
        units_failed: [fit(256)],
        certificates: [{ name: fit(256), not_after: '2027-01-01T00:00:00Z' }],
        errors: [line],
      });
      await said('reports', {
        role: 'gateway',
        state: 'up',
        listeners: [{ host: fit(253), port: 1, protocol: fit(32) }],
        lines: [line],
      });
    }
    assert.deepEqual([...new Set(taken)].toSorted(), DOORS);
    word = undefined;
    const { faults, silent } = await walk();
    assert.deepEqual(faults, []);
    for (const place of [
      '#/people',
      '#/groups',
      '#/conversations',
      '#/vendor-tokens',
      '#/bots',
      '#/gateways',
      '#/audit',
    ])
      assert.ok(!silent.includes(place), `${place} shows none of it`);
    assert.deepEqual(people.complaints, []);
  });

  test('DIR-01 a file of links runs nothing in a spreadsheet, whatever divides its cells there', async () => {
    word = undefined;
    await browser.page.setViewportSize(WIDE);
    await browser.open('#/people');
    const formulas = [
      "=cmd|'/C calc'!A0",
      '+1+1',
      '-1+1',
      '@SUM(1)',
      '\uFF1D1+1',
      '\uFF0B1',
      '\uFF0D1',
      '\uFF20SUM(1)',
      "x;=cmd|'/C calc'!A0;",
      'x\t=1+1\t',
      'x,=1+1,',
      'x"\n=1+1',
      'x|=1+1|',
      'x; =1+1;',
      'x"";=1+1;',
      '\u200B=1+1',
      ' =1+1',
    ];
    const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
    const csv = ['display_name,title', ...formulas.map((text) => `${quoted(text)},${quoted(text)}`)].join('\r\n');
    await browser.press('Invite by a file', 'main');
    const choosing = browser.page.waitForEvent('filechooser');
    await browser.page.getByRole('dialog').getByLabel('File', { exact: true }).click();
    await (await choosing).setFiles({ name: "=cmd|'x'.csv", mimeType: 'text/csv', buffer: Buffer.from(csv) });
    await browser.answer(`Invite: ${formulas.length}`);
    const downloading = browser.page.waitForEvent('download');
    await browser.answer('Download the links');
    const download = await downloading;
    assert.equal(download.suggestedFilename(), 'parley-invitations.csv');
    const file = (await buffer(await download.createReadStream())).toString('utf8');
    assert.ok((file.match(/\/v1\/enroll\//g)?.length ?? 0) > 10, file);
    const running = [',', ';', '\t', '|'].flatMap((separator) =>
      cellsOf(file, separator)
        .filter((cell) => /^[\s\u200B]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]/.test(cell))
        .map((cell) => `by ${JSON.stringify(separator)}: ${JSON.stringify(cell)}`),
    );
    assert.deepEqual(running, []);
  });
});

/** Cells as spreadsheets divide a file: quotes count at the beginning of a cell, and what comes behind them belongs to it. */
function cellsOf(file: string, separator: string): string[] {
  const cells: string[] = [];
  let cell = '';
  let [isQuoted, isNew] = [false, true];
  for (let at = 0; at < file.length; at += 1) {
    const letter = file[at] as string;
    if (isQuoted && letter === '"' && file[at + 1] === '"') {
      cell += '"';
      at += 1;
    } else if (isQuoted && letter === '"') isQuoted = false;
    else if (isQuoted) cell += letter;
    else if (letter === '"' && isNew) isQuoted = true;
    else if (letter === separator || letter === '\n' || letter === '\r') {
      cells.push(cell);
      cell = '';
      isNew = true;
      continue;
    } else cell += letter;
    isNew = false;
  }
  return [...cells, cell];
}
