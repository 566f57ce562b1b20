// How the pages are built: into `dist`, each file with a copy that is compressed already, for the binary to embed.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

// Where `strata up` answers, while the pages are worked on.
const server = process.env.STRATA_URL ?? 'http://127.0.0.1:8080';
const ours = [
  '/graphql',
  '/auth',
  '/sign-in',
  '/graphiql',
  '/pages',
  '/assets/sign_in.js',
  '/assets/pages.css',
  '/api',
  '/files',
  '/readyz',
  '/livez',
  '/metrics',
];

function compressed(): Plugin {
  return {
    name: 'compressed',
    apply: 'build',
    closeBundle() {
      const files = readdirSync('dist', { recursive: true, encoding: 'utf8' });
      for (const file of files.map((name) => join('dist', name))) {
        if (!statSync(file).isFile() || !/\.(js|mjs|css|html|svg|json|txt)$/.test(file)) continue;
        writeFileSync(`${file}.br`, brotliCompressSync(readFileSync(file)));
      }
    },
  };
}

interface Package {
  name: string;
  version: string;
  license?: string;
  repository?: string | { url?: string };
  dependencies?: Record<string, string>;
}

const read = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as Package;

/** Whose work is in the files, and under which licence. */
function notices(): Plugin {
  const about = (name: string) => {
    const folder = join('node_modules', name);
    const { version, license, repository } = read(join(folder, 'package.json'));
    const text = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
    const source = typeof repository === 'string' ? repository : repository?.url;
    return `${name} ${version}, ${license}, ${source ?? ''}\n\n${text ? readFileSync(join(folder, text), 'utf8') : ''}`;
  };
  return {
    name: 'notices',
    apply: 'build',
    generateBundle() {
      const names = Object.keys(read('package.json').dependencies ?? {});
      this.emitFile({ type: 'asset', fileName: 'notices.txt', source: names.map(about).join(`\n${'-'.repeat(80)}\n`) });
    },
  };
}

export default defineConfig({
  plugins: [react(), notices(), compressed()],
  build: { assetsDir: 'static', target: 'es2023', chunkSizeWarningLimit: 2_000, reportCompressedSize: false },
  worker: { format: 'es' },
  server: {
    proxy: Object.fromEntries(ours.map((path) => [path, { target: server, ws: path === '/graphql' }])),
  },
});
