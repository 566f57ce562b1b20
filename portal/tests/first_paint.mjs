// How soon something is to be seen, and whether it stays where it was.
import { given, open, say } from './browser.mjs';

const { page, close } = await open();
await page.addInitScript(() => {
  window.shifts = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifts += entry.value;
  }).observe({ type: 'layout-shift', buffered: true });
});
for (const path of ['/', `/jobs/${given.job}`]) {
  await page.goto(given.url + path);
  await page.waitForSelector('.job-row, [data-node="END"]');
  await page.waitForFunction(() => performance.now() > 2_500);
  const { paint, shifts } = await page.evaluate(() => ({
    paint: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.POSITIVE_INFINITY,
    shifts: window.shifts,
  }));
  say(JSON.stringify({ path, paint: Math.round(paint), shifts: Math.round(shifts * 1_000) / 1_000 }));
}
await close();
