// How a page copes with much: not a test, a measurement. Prints milliseconds until the graph is there and takes a click, frames while it
// is dragged, and memory. Usage: node perf.mjs '{"url": ..., "token": ..., "jobs": [ID, ...]}'
import { given, open, say } from './browser.mjs';

const DRAG_STEPS = 60;

const { page, context, close } = await open();
for (const job of given.jobs) {
  const client = await context.newCDPSession(page);
  const began = Date.now();
  await page.goto(`${given.url}/jobs/${job}`);
  await page.waitForSelector('[data-graph][data-laid-out] .step');
  const shown = Date.now() - began;
  await page.locator('.step').first().click();
  await page.waitForSelector('[data-panel]');
  const usable = Date.now() - began;
  await page.keyboard.press('Escape');
  await page.waitForSelector('[data-panel]', { state: 'detached' });
  await page.waitForFunction(() => new Promise((done) => requestIdleCallback(() => done(true))));

  const pane = await page.locator('.graph').boundingBox();
  const [x, y] = [pane.x + pane.width / 2, pane.y + pane.height - 40];
  await page.evaluate(() => {
    window.frames_ = 0;
    const count = () => {
      window.frames_ += 1;
      requestAnimationFrame(count);
    };
    requestAnimationFrame(count);
  });
  await page.mouse.move(x, y);
  await page.mouse.down();
  const from = await page.evaluate(() => [window.frames_, performance.now()]);
  for (let i = 0; i < DRAG_STEPS; i += 1) await page.mouse.move(x + 4 * i, y - 2 * i);
  const to = await page.evaluate(() => [window.frames_, performance.now()]);
  await page.mouse.up();
  const fps = Math.round((1_000 * (to[0] - from[0])) / (to[1] - from[1]));
  await client.send('HeapProfiler.collectGarbage');
  const { usedSize } = await client.send('Runtime.getHeapUsage');
  const drawn = await page.locator('.step').count();
  say(JSON.stringify({ job, shown, usable, fps, heap_mb: Math.round(usedSize / 1e6), drawn }));
}
await close();
