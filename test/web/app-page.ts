/** What a person does in the app, for tests: signing in, and finding messages, fields and rows of the list. */
import { until } from '#test/support/waiting.ts';
import type { Locator, Page } from 'playwright-core';
import type { TestServer } from '#test/support/server.ts';

export async function signIn(server: TestServer, page: Page, username: string): Promise<void> {
  await page.goto(server.coordinator);
  await page.getByLabel('Username').fill(username);
  await page.getByLabel('Password', { exact: true }).fill(`password of ${username}`);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('navigation', { name: 'Conversations' }).waitFor();
}

export function fieldOf(page: Page, title: string): Locator {
  return page.getByRole('textbox', { name: `Message ${title}`, exact: true });
}

export async function send(page: Page, title: string, text: string): Promise<void> {
  await fieldOf(page, title).fill(text);
  await fieldOf(page, title).press('Enter');
}

export function messageOf(page: Page, text: string): Locator {
  return page.getByRole('article').filter({ hasText: text });
}

export async function openRow(page: Page, title: string): Promise<void> {
  const isTitled = page.locator('bdi', { hasText: new RegExp(`^${title}$`) });
  await page.getByRole('navigation').getByRole('link').filter({ has: isTitled }).click();
  await fieldOf(page, title).waitFor();
}

/** Opens what the head of a conversation leads to: by its button, or where there is no room for one, from the menu. */
export async function chooseInHead(page: Page, name: string): Promise<void> {
  const button = page.locator('.parley-head').getByRole('button', { name, exact: true });
  if (await button.isVisible()) return await button.click();
  await page.getByRole('button', { name: 'More', exact: true }).click();
  await page.getByRole('menuitem', { name }).click();
}

/** Presses one of the buttons that a message shows when it is pointed at. */
export async function act(message: Locator, name: string): Promise<void> {
  await message.hover();
  await message.getByRole('button', { name, exact: true }).click();
}

/** Chooses from the menu of a message. */
export async function chooseFor(page: Page, message: Locator, item: string): Promise<void> {
  await act(message, 'Other actions');
  await page.getByRole('menuitem', { name: item }).click();
}

/** Brings an element of a list into view; rows are drawn anew where others are put in front of them. */
export async function bringIntoView(element: Locator): Promise<void> {
  const bring = async () =>
    await element.scrollIntoViewIfNeeded().then(
      () => true,
      (error: unknown) => {
        if ((error as Error).message.includes('not attached')) return false;
        throw error;
      },
    );
  await until(bring, 'an element to stay where it is');
}
