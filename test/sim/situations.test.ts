import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { operationMachine } from '../../machines/operation.ts';
import { memoryStore } from '../../src/adapters/memory/store.ts';
import { situations } from './situations.ts';
import { verbs } from './verbs.ts';

const here = new URL('.', import.meta.url);

describe('what some schedule has to meet', () => {
  test('holds a lost request and a lost reply of every verb of the store', () => {
    const store = memoryStore();
    const asked = Object.entries(store).filter(
      ([name, member]) => typeof member === 'function' && name !== 'open' && name !== 'close',
    );

    const named = asked.map(([name]) => name).toSorted();

    expect(named).toEqual([...verbs].toSorted());
    for (const name of named) {
      expect(situations).toContain(`request lost: ${name}`);
      expect(situations).toContain(`reply lost: ${name}`);
    }
  });

  test('holds every arrow of the chart', () => {
    const missing = arrowsInTheConfig().filter(
      ({ from, to }) => !situations.some((name) => name.startsWith(`${from} --`) && name.includes(`--> ${to}`)),
    );

    expect(missing).toEqual([]);
  });

  test('holds no arrow that the chart does not have', () => {
    const known = arrowsInTheConfig();

    const invented = situations
      .map((name) => /^(\S+) --\S+--> (\S+)/.exec(name))
      .filter((match) => match !== null)
      .filter(([, from, to]) => !known.some((arrow) => arrow.from === from && arrow.to === to));

    expect(invented).toEqual([]);
  });

  test('names nothing twice', () => {
    expect(situations).toHaveLength(new Set(situations).size);
  });
});

describe('the simulator', () => {
  const files = readdirSync(here).filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));
  const imports = files.flatMap((file) =>
    [...readFileSync(new URL(file, here), 'utf8').matchAll(/^(?:import|\} from|export).*? from '([^']+)';$/gm)].map(
      ([line, from = '']) => ({ file, from, isType: line.startsWith('import type') }),
    ),
  );

  test('runs the orchestrator as it is made for everybody', () => {
    // Rows are read as they were stored, which makes nothing.
    const makers = imports.filter(
      ({ from }) => /orchestrator/.test(from) && !from.startsWith('./') && !from.endsWith('/orchestrator/snapshot.ts'),
    );

    const values = makers.filter(({ isType }) => !isType).map(({ file, from }) => `${file}: ${from}`);

    expect(values).toEqual(['process.ts: ../../src/create-orchestrator.ts']);
  });

  test('decides nothing itself: it reads neither policy nor kernel, and the chart only for its arrows', () => {
    const decisive = imports.filter(({ from }) => /\/(kernel|machines)\/|domain\/(policy|attempt|backoff)/.test(from));

    const readers = decisive.map(({ file, from }) => `${file}: ${from}`);

    expect(readers).toEqual(['arrows.ts: ../../machines/operation.ts']);
  });
});

/** From the text of the chart's definition, without XState's own reading of it. */
function arrowsInTheConfig(): { readonly from: string; readonly to: string }[] {
  const arrows: { from: string; to: string }[] = [];
  for (const [from, state] of Object.entries(operationMachine.config.states ?? {})) {
    const lists: unknown[] = [
      state.always,
      ...Object.values(state.on ?? {}),
      // What an actor's error would do is never reported by the orchestrator.
      ...[state.invoke].flat().map((invoke) => (invoke as { onDone?: unknown } | undefined)?.onDone),
    ];
    for (const list of lists.flat(3)) {
      if (list === undefined) continue;
      const target = typeof list === 'string' ? list : (list as { target?: string }).target;
      arrows.push({ from, to: target ?? from });
    }
  }
  return arrows;
}
