// How the pages are built: into `dist`, each file with a copy that is compressed already, for the binary to embed.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

// Where `strata up` answers, while the pages are worked on.
const server = process.env.STRATA_URL ?? 'http://127.0.0.1:8080';
const ours = ['/graphql', '/auth', '/sign-in', '/graphiql', '/pages', '/assets/sign_in.js', '/assets/pages.css', '/api', '/files', '/readyz', '/livez', '/metrics'];

function compressed(): Plugin {
  return {
    name: 'compressed',
    apply: 'build',
    closeBundle() {
      const files = readdirSync('dist', { recursive: true, encoding: 'utf8' });
      for (const file of files.map((name) => join('dist', name))) {
        if (!statSync(file).isFile() || !/\.(js|mjs|css|html|svg|json)$/.test(file)) continue;
        writeFileSync(`${file}.br`, brotliCompressSync(readFileSync(file)));
      }
    },
  };
}

export default defineConfig({
  plugins: [react(), compressed()],
  build: { assetsDir: 'static', target: 'es2023', chunkSizeWarningLimit: 2_000, reportCompressedSize: false },
  worker: { format: 'es' },
  server: {
    proxy: Object.fromEntries(ours.map((path) => [path, { target: server, ws: path === '/graphql' }])),
  },
});
