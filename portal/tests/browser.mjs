// A browser that is signed in, and keeps watch: what fails in a page, and whatever would leave the host.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';

/** What the test has given: `{ url, token, ... }`. */
export const given = JSON.parse(process.argv[2] ?? '{}');
export const PATIENCE_MS = 30_000;

const PROGRAMS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export async function open({ width = 1280, height = 800, scheme = 'light', token = given.token } = {}) {
  const executablePath = process.env.STRATA_TEST_CHROMIUM ?? PROGRAMS.find(existsSync);
  // Tests may run as root and without a graphics card.
  const args = ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist'];
  const browser = await chromium.launch({ executablePath, args });
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const faults = [];
  const outside = [];
  page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() === 'error' && !/status of 40[13]|ERR_|WebSocket/.test(message.text())) faults.push(`${message.text()} ${message.location().url}`);
  });
  const { host } = new URL(given.url);
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (url.host !== host && !['data:', 'blob:'].includes(url.protocol)) outside.push(request.url());
  });
  if (token) {
    await page.goto(`${given.url}/sign-in#${token}`);
    await page.waitForURL(`${given.url}/`);
    await page.waitForSelector('.brand');
  }
  const close = async () => {
    await browser.close();
    // Nothing more is heard; an open pipe would keep the program.
    process.stdin.destroy();
    assert.deepEqual(faults, [], 'nothing fails in the pages');
    assert.deepEqual(outside, [], 'no request leaves the host');
  };
  return { browser, context, page, close };
}

/** Says something to the test. */
export const say = (...words) => console.log(words.join(' '));

let lines;

/** Waits for the test to say something, or this. */
export async function hear(expected) {
  lines ??= createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const { value } = await lines.next();
  if (expected) assert.equal(value, expected);
  return value;
}

/** Asks the API with the session of the page. */
export function ask(page, query, variables = {}) {
  return page.evaluate(
    async (body) => {
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch('/graphql', { method: 'POST', headers, body: JSON.stringify(body) });
      return answer.json();
    },
    { query, variables },
  );
}
