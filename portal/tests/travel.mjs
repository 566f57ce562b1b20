// The slider at some events: what graph, header and address show then, for the test to hold against `strata at`.
import assert from 'node:assert/strict';
import { given, open, say } from './browser.mjs';

const { page, close } = await open();
await page.goto(`${given.url}/jobs/${given.job}`);
await page.waitForSelector('[data-graph][data-laid-out]');
await page.waitForSelector('[data-node="END"]');
const slider = page.getByRole('slider', { name: 'Event of the history' });

for (const { version, position } of given.events) {
  await slider.fill(String(version));
  await page.waitForSelector(`main[data-position="${position}"]`);
  await page.waitForFunction((at) => new URL(location.href).searchParams.get('at') === String(at), position);
  const shown = await page.evaluate(() => ({
    status: document.querySelector('[data-job-status]').dataset.jobStatus,
    done: Number(document.querySelector('[data-done]').dataset.done),
    nodes: Object.fromEntries([...document.querySelectorAll('[data-node]')].map((node) => [node.dataset.node, node.dataset.state])),
  }));
  say(JSON.stringify({ position, ...shown }));
}

// The address alone shows the same; the panel and the differences follow it.
const [first, second] = [given.events.at(2), given.events.at(-2)];
await page.goto(`${given.url}/jobs/${given.job}?at=${second.position}&from=${first.position}&node=${given.node}`);
await page.waitForSelector(`main[data-position="${second.position}"]`);
await page.waitForSelector(`[data-panel="${given.node}"] .panel-body`);
assert.ok((await page.locator('[data-diff] .diff-list > div').count()) > 0, 'something differs');
await page.getByRole('button', { name: 'Back to now' }).click();
await page.waitForSelector('[data-job-status="COMPLETED"]');
assert.equal(new URL(page.url()).searchParams.get('at'), null);
await close();
