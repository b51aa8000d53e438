import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const conditions = ['sagacity-source'];

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['{test,examples}/**/*.test.ts'],
    typecheck: { enabled: true, include: ['test/types/**/*.test-d.ts'], tsconfig: './tsconfig.json' },
    globalSetup: ['test/support/global-setup.ts'],
    maxWorkers: 2,
    // They end what hangs. How fast something is, is measured elsewhere, and a busy machine takes several times as long.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
