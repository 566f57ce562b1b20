// An admin approves a revision and rolls back to an earlier one; a reader is offered neither, and is refused both.
import assert from 'node:assert/strict';
import { ask, given, open } from './browser.mjs';

const { page, close } = await open({ token: given.token });
await page.goto(`${given.url}/assets`);
await page.click(`[data-asset="${given.asset}"]`);
await page.waitForSelector('[data-revision="2"][data-current]');

await page.click('[data-revision="2"] [data-act="approve"]');
await page.waitForSelector('[data-preview="approve"]');
await page.getByRole('button', { name: 'Approve', exact: true }).click();
await page.waitForSelector('[data-revision="2"] [data-approval="APPROVED"]');

await page.click('[data-revision="1"] [data-act="rollback"]');
assert.match(await page.textContent('[data-preview="rollback"]'), /new revision 3 is made with the content of revision 1/);
const button = page.getByRole('button', { name: 'Roll back to it', exact: true });
assert.equal(await button.isDisabled(), true, 'without a reason it is not done');
await page.fill('#act-reason', 'the second one was wrong');
await button.click();
await page.getByText('NOT_VERIFIABLE').waitFor();
await page.check('#act-accept');
await button.click();
await page.waitForSelector('[data-revision="3"][data-current]');
const hashes = await ask(page, 'query($id: String!) { asset(id: $id) { revision revisions { number contentHash } } }', { id: given.asset });
const { revision, revisions } = hashes.data.asset;
assert.equal(revision, 3);
assert.equal(revisions[2].contentHash, revisions[0].contentHash);

const reader = await open({ token: given.reader });
await reader.page.goto(`${given.url}/assets/${given.asset}`);
await reader.page.waitForSelector('[data-revision="3"][data-current]');
assert.equal(await reader.page.locator('[data-act], [data-acts] button').count(), 0, 'a reader is offered nothing');
assert.equal(await reader.page.locator('.call').count(), 0);
for (const mutation of ['approve(assetId: $id) { repeated }', 'rollbackAsset(assetId: $id, to: 1, reason: "r") { repeated }']) {
  const { errors } = await ask(reader.page, `mutation($id: String!) { ${mutation} }`, { id: given.asset });
  assert.equal(errors[0].extensions.category, 'permission');
}
await reader.close();
await close();
