// The API is killed while a page watches a job, and comes back: so does the page, and nothing is missing.
import assert from 'node:assert/strict';
import { given, hear, open, PATIENCE_MS, say } from './browser.mjs';

const { page, close } = await open();
say('open');
const job = await hear();
await page.goto(`${given.url}/jobs/${job}`);
await page.waitForSelector('[data-job-status="RUNNING"]');
await page.waitForSelector('html[data-line="live"]');
await page.evaluate(() => {
  window.sameDocument = true;
});
const before = Number(await page.getAttribute('[data-done]', 'data-done'));

say('kill');
await page.waitForSelector('html[data-line="lost"]');
// What was there stays in sight.
await page.waitForSelector('[data-node="START"]');
say('start');
await hear('started');
await page.waitForSelector('html[data-line="live"]', { timeout: PATIENCE_MS });
await page.waitForSelector('[data-job-status="COMPLETED"]', { timeout: 2 * PATIENCE_MS });
assert.equal(await page.evaluate(() => window.sameDocument), true, 'the page was never loaded anew');

const after = Number(await page.getAttribute('[data-done]', 'data-done'));
assert.ok(after > before, `${before} before, ${after} after`);
const states = await page.$$eval('[data-node]', (nodes) => nodes.map((node) => node.dataset.state));
assert.deepEqual([...new Set(states)], ['COMPLETED']);
say('events', (await page.textContent('.travel-words .num')).split('/')[1].replace(/\D/g, ''));
await page.locator('.tabs a', { hasText: 'Events' }).click();
assert.match(await page.textContent('.event-line'), /job_completed/);
await close();
