// Every page, at two widths and in two colours: no violation of accessibility, nothing wider than the window.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { given, open } from './browser.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const shots = process.env.STRATA_SCREENSHOTS;
if (shots) mkdirSync(shots, { recursive: true });

const { job, node, asset, workflow, position, from } = given;
const pages = {
  jobs: '/',
  'jobs-none': '/?q=nothing-has-this-name',
  job: `/jobs/${job}`,
  'job-node': `/jobs/${job}?node=${node}`,
  'job-past': `/jobs/${job}?at=${position}&from=${from}&node=${node}`,
  'job-timeline': `/jobs/${job}?tab=timeline`,
  'job-events': `/jobs/${job}?tab=events`,
  'job-values': `/jobs/${job}?tab=values`,
  'job-map': `/jobs/${job}?tab=map`,
  'job-definition': `/jobs/${job}?tab=definition`,
  'job-none': '/jobs/job_00000000000000000000000000000000',
  submit: '/submit',
  'submit-form': `/submit/${workflow}`,
  assets: '/assets',
  'assets-map': '/assets?view=map',
  asset: `/assets/${asset}`,
  workflows: '/workflows',
  workflow: `/workflows/${workflow}`,
  health: '/platform',
  queues: '/platform/queues',
  workers: '/platform/workers',
  'read-models': '/platform/read-models',
  callbacks: '/platform/callbacks',
  'dead-letters': '/platform/dead-letters',
  keys: '/platform/keys',
};

/** Waits until nothing is being read and the main picture is there. */
async function settled(page) {
  await page.waitForSelector('main h1, main .empty');
  await page.waitForFunction(
    () =>
      !document.querySelector('.wait') &&
      !document.querySelector('[data-graph]:not([data-laid-out])') &&
      !document.querySelector('[data-map]:not([data-ready])'),
  );
}

const wrong = [];
const signIns = [...given.tokens];
// What depends on the width does not depend on the colours.
for (const [width, scheme] of [
  [1280, 'light'],
  [390, 'dark'],
]) {
  const { page, close } = await open({ width, height: width < 500 ? 844 : 800, scheme, token: signIns.pop() });
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(given.url + path);
    await settled(page);
    const at = `${name} at ${width} in ${scheme}`;
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) wrong.push(`${at}: ${wide} pixels too wide`);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run({ resultTypes: ['violations'] }));
    for (const { id, help, nodes } of violations) {
      const [first] = nodes;
      wrong.push(`${at}: ${id}: ${help}: ${first.target.join(' ')} ${first.any[0]?.message ?? ''} (${nodes.length})`);
    }
    if (shots && ((width === 1280) === (scheme === 'light')) === name.length > 0) {
      await page.screenshot({ path: join(shots, `${name}-${width}-${scheme}.png`) });
    }
  }
  await close();
}
assert.deepEqual(wrong, []);
