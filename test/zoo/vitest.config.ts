/**
 * The tests as they are, on a library with the defect that `SAGACITY_DEFECT` names; without one, just the tests. Vite
 * loads the modules of a test; the processes that a test starts load theirs through `loader.mjs`.
 */

import { appendFileSync } from 'node:fs';
import { defineConfig, mergeConfig, type ViteUserConfig } from 'vitest/config';
import asTheyAre from '../vitest.config.ts';
import { loader, type Planted, plantedHere } from './planted.ts';

const planted = await plantedHere();

export default mergeConfig(
  asTheyAre,
  defineConfig({ test: { typecheck: { enabled: false } }, ...(planted === null ? {} : withDefect(planted)) }),
);

function withDefect({ sources, noteIn }: Planted): ViteUserConfig {
  return {
    plugins: [
      {
        name: 'sagacity-defect',
        enforce: 'pre',
        transform(_, id) {
          const [path = id] = id.split('?');
          const code = sources.get(path);
          if (code === undefined) return null;
          if (noteIn !== null) appendFileSync(noteIn, `${path}\n`);
          return { code, map: null };
        },
      },
    ],
    test: {
      typecheck: { enabled: false },
      env: { NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --import ${loader}`.trim() },
    },
  };
}
