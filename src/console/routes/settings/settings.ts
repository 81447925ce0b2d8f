/** Settings screens: what is set, of secrets only that they are (CON-02, VND-10). */
import { z } from 'zod';
import { isTestable, TESTABLE_SCREENS, type SettingTest, type TestableScreen } from '#src/settings/setting-tests.ts';
import {
  changeForm,
  fieldsOf,
  readerOf,
  SETTING_SCREEN_NAMES,
  SETTING_SCREENS,
  type SettingScreen,
  type SettingScreenName,
} from '#src/settings/setting-screens.ts';
import type { ScreenView, Settings } from '#src/settings/settings.ts';
import { actorOf, roleOf } from '#src/identity/console/principal.ts';
import { page, type ConsolePage, type ConsoleRequest, type ConsoleRoute } from '../../route.ts';

const setMark = z.strictObject({ set: z.boolean() });

const settingTest = z
  .strictObject({ ok: z.boolean(), detail: z.string(), expires_at: z.string().nullable() })
  .meta({ id: 'SettingTest' });

const camel = (name: string) =>
  name
    .split('-')
    .map((part) => `${part.charAt(0).toUpperCase()}${part.slice(1)}`)
    .join('');

function screenReply(name: SettingScreenName) {
  const values = fieldsOf(name).map(([field, { isSecret, say, schema }]) => {
    return [field, (isSecret === true ? setMark : schema.nullable()).meta({ description: say })];
  });
  return z
    .strictObject({
      say: z.string(),
      read_by: z.string().meta({ description: 'What of the server goes by it.' }),
      effect: z.string().meta({ description: 'When a change counts.' }),
      is_complete: z.boolean(),
      values: z.strictObject(Object.fromEntries(values) as Record<string, z.ZodType>),
      changed_at: z.string().nullable(),
      changed_by: z.string().nullable(),
      dropped: z
        .array(z.string())
        .meta({ description: 'Secrets that this change took away, since where they go changed: give them anew.' }),
    })
    .meta({ id: `Settings${camel(name)}` });
}

function routesOf(name: SettingScreenName): Record<string, ConsoleRoute> {
  const { isClosedToVendors, isOwners, say }: SettingScreen = SETTING_SCREENS[name];
  const reply = { 200: screenReply(name) };
  const path = `/settings/${name}` as const;
  return {
    [`read${camel(name)}`]: {
      method: 'get',
      path,
      summary: say,
      access: 'settings:read',
      vendor: isClosedToVendors === true ? 'closed' : 'open',
      audit: null,
      replies: reply,
      errors: [],
    },
    [`change${camel(name)}`]: {
      method: 'put',
      path,
      summary: `${say} What the body leaves out stays; null takes a value away.`,
      access: isOwners === true ? 'access:write' : 'settings:write',
      vendor: 'closed',
      audit: 'settings.changed',
      body: changeForm(name).meta({ id: `ChangeSettings${camel(name)}` }),
      replies: reply,
      errors: [
        'encryption_locked',
        'retention_shortens',
        'role_above_own',
        'sso_in_use',
        'sso_not_set',
        'sso_owner_required',
      ],
    },
  };
}

function testRouteOf(name: TestableScreen): Record<string, ConsoleRoute> {
  const route = {
    method: 'post',
    path: `/settings/${name}/test`,
    summary: 'Tries what the screen says, and answers how that went.',
    access: 'settings:write',
    vendor: 'closed',
    audit: 'settings.tested',
    replies: { 200: settingTest },
    errors: ['encryption_locked', 'setting_incomplete', 'target_private'],
  } as const satisfies ConsoleRoute;
  return { [`test${camel(name)}`]: route };
}

export const settingsRoutes: Readonly<Record<string, ConsoleRoute>> = Object.assign(
  {},
  ...SETTING_SCREEN_NAMES.map(routesOf),
  ...TESTABLE_SCREENS.map(testRouteOf),
) as Record<string, ConsoleRoute>;

export interface SettingsPageOptions {
  readonly settings: Settings;
  /** Tries a screen. */
  readonly test: (name: TestableScreen) => Promise<SettingTest>;
}

export function makeSettingsPage({ settings, test }: SettingsPageOptions): ConsolePage {
  const byOf = ({ principal, address }: ConsoleRequest) => ({ actor: actorOf(principal), address });
  const handlers = SETTING_SCREEN_NAMES.flatMap((name) => {
    const own: [string, ConsolePage['handlers'][string]][] = [
      [`read${camel(name)}`, () => ({ status: 200, body: bodyOf(name, settings.view(name)) })],
      [
        `change${camel(name)}`,
        async (request) => {
          const by = { ...byOf(request), role: roleOf(request.principal) };
          const view = await settings.change(name, request.body as Readonly<Record<string, unknown>>, by);
          return { status: 200, body: bodyOf(name, view) };
        },
      ],
    ];
    if (!isTestable(name)) return own;
    const tried: ConsolePage['handlers'][string] = async (request) => {
      const body = await test(name);
      await settings.auditTest(name, body.detail, byOf(request));
      return { status: 200, body };
    };
    return [...own, [`test${camel(name)}`, tried] as const];
  });
  return page(settingsRoutes, Object.fromEntries(handlers));
}

function bodyOf(name: SettingScreenName, view: ScreenView) {
  const { effect, say } = SETTING_SCREENS[name];
  return {
    say,
    read_by: readerOf(name),
    effect,
    is_complete: view.isComplete,
    values: view.values,
    changed_at: view.changedAt,
    changed_by: view.changedBy,
    dropped: [...view.dropped],
  };
}
