// By the keyboard alone: submit a job in the form, watch it end without a reload, open another one, cancel it.
import assert from 'node:assert/strict';
import { given, open, PATIENCE_MS } from './browser.mjs';

const { page, close } = await open();
const { keyboard } = page;

/** Presses a key until the focus is where it should be. */
async function until(selector, key, most = 60) {
  for (let i = 0; i < most; i += 1) {
    if (await page.evaluate((wanted) => document.activeElement?.matches(wanted), selector)) return;
    await keyboard.press(key);
  }
  assert.fail(`${key} does not lead to ${selector}`);
}

async function submit(workflow, values) {
  await keyboard.press('n');
  await page.waitForSelector(`[data-workflow="${workflow}"]`);
  await until(`[data-workflow="${workflow}"]`, 'j');
  await keyboard.press('Enter');
  await page.waitForSelector(`[data-form="${workflow}"]`);
  for (const [name, text] of Object.entries(values)) {
    await until(`[name="${name}"]`, 'Tab');
    await keyboard.press('Control+a');
    await keyboard.type(text);
  }
  await until('button.submit', 'Tab');
  await keyboard.press('Enter');
  await page.waitForSelector('[data-job-status]');
  return page.url().split('/').at(-1);
}

await page.evaluate(() => {
  window.sameDocument = true;
});

// A value that does not fit is refused before anything is sent.
await keyboard.press('n');
await page.waitForSelector('[data-workflow="fan"]');
await until('[data-workflow="fan"]', 'j');
await keyboard.press('Enter');
await page.waitForSelector('[data-form="fan"]');
await until('[name="items"]', 'Tab');
await keyboard.press('Control+a');
await keyboard.type('many');
await keyboard.press('Enter');
await page.waitForSelector('[name="items"][aria-invalid="true"]');
assert.match(page.url(), /submit\/fan$/);
await keyboard.press('Control+a');
await keyboard.type('40');
await keyboard.press('Enter');

// It is watched to its end: every node, and the children of the fan-out.
await page.waitForSelector('[data-job-status="COMPLETED"]', { timeout: PATIENCE_MS });
await page.waitForSelector('[data-node="fan"][data-state="COMPLETED"]');
await page.waitForSelector('[data-done="44"]');
const job = page.url().split('/').at(-1);
assert.equal(await page.textContent('[data-node="fan"] .step-state'), '40 of 40');
assert.equal(await page.evaluate(() => window.sameDocument), true, 'the page was never loaded anew');

// The list leads to it.
await keyboard.press('g');
await keyboard.press('j');
await page.waitForSelector(`[data-job="${job}"].job-row`);
await until(`[data-job="${job}"]`, 'j');
await keyboard.press('Enter');
await page.waitForSelector(`main[data-job="${job}"]`);

// A job that waits is cancelled, with a preview first.
const waiting = await submit('elsewhere', {});
await page.waitForSelector('[data-job-status="RUNNING"]');
await keyboard.press('x');
await page.waitForSelector('[data-preview="cancel"]');
await until('#why', 'Tab');
await keyboard.type('changed my mind');
await keyboard.press('Enter');
await page.waitForSelector('[data-job-status="CANCELLED"]');
assert.match(await page.textContent('main'), /changed my mind/);
assert.notEqual(waiting, job);
assert.equal(await page.evaluate(() => window.sameDocument), true);

// Many at once: counted first, then done.
await page.goto(`${given.url}/?status=CANCELLED&workflow=elsewhere`);
await page.waitForSelector('.job-row');
await page.getByRole('button', { name: 'Retry …' }).click();
assert.match(await page.textContent('[data-bulk="preview"]:has(strong)'), /1 job would change/);
await page.getByRole('button', { name: 'Retry 1 job' }).click();
assert.match(await page.textContent('[data-bulk="done"]'), /done for 1 job/);
await close();
