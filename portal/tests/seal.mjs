// The seal of a job: verified in the page, and handed out as a file for the test to check.
import assert from 'node:assert/strict';
import { given, open, say } from './browser.mjs';

const { page, close } = await open();
await page.goto(`${given.url}/jobs/${given.job}`);
await page.click('[data-seal-button]');
await page.waitForSelector('[data-seal="verified"]');
const command = await page.textContent('dialog pre');
const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download the proof' }).click()]);
await download.saveAs(given.file);
const [, key] = command.match(/--key (\S+)$/) ?? [];
assert.ok(key, command);
say(key);
await close();
