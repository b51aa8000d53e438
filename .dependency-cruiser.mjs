// The directions of imports: domain <- define <- machines <- kernel <- orchestrator <- index <- operator, ports below
// the orchestrator, adapters beside it. Each layer lists what it may reach; everything else of this repository is
// forbidden to it, so a new folder starts without rights. Imports of types count like all others.

const ours = '^(src|machines|drizzle|examples|test|\\.ci)/';

/** What each layer may import from this repository, besides itself. */
const layers = [
  { name: 'domain', path: '^src/domain/', mayImport: [] },
  { name: 'define', path: '^src/define/', mayImport: ['^src/domain/'] },
  { name: 'machines', path: '^machines/', mayImport: ['^src/(domain|define)/'] },
  { name: 'kernel', path: '^src/kernel/', mayImport: ['^src/(domain|define)/', '^machines/'] },
  { name: 'ports', path: '^src/ports/', mayImport: ['^src/domain/'] },
  {
    name: 'orchestrator',
    path: '^src/orchestrator/',
    mayImport: ['^src/(domain|define|kernel|ports)/', '^machines/'],
  },
  { name: 'adapters', path: '^src/adapters/', mayImport: ['^src/(ports|domain)/', '^drizzle/'] },
  { name: 'providers', path: '^src/providers/', mayImport: ['^src/(ports|domain|define)/'] },
  { name: 'testing', path: '^src/testing/', mayImport: ['^src/(ports|domain|adapters|orchestrator|providers)/'] },
  { name: 'entries', path: '^src/[^/]+\\.ts$', mayImport: ['^src/(?!operator/)', '^machines/'] },
  {
    name: 'operator',
    path: '^src/operator/',
    mayImport: ['^src/[^/]+\\.ts$', '^src/domain/'],
  },
];

const published = '^(src|machines)/|^drizzle/migrations\\.ts$';

export default {
  forbidden: [
    ...layers.map(({ name, path, mayImport }) => ({
      name: `${name}-imports-only-what-is-below`,
      comment: `What ${name} needs from elsewhere belongs lower.`,
      severity: 'error',
      from: { path },
      to: { path: ours, pathNot: [path, ...mayImport] },
    })),
    {
      name: 'no-cycles',
      comment: 'Two modules that need each other are one module, or lack a third below both.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-dev-dependency-in-what-is-published',
      comment: 'A user does not have our dev dependencies. A peer dependency is there for users too.',
      severity: 'error',
      from: { path: published },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['npm', 'npm-peer', 'npm-optional'] },
    },
    {
      name: 'no-undeclared-package',
      comment: 'A package that package.json does not name is there by accident.',
      severity: 'error',
      from: {},
      // An optional peer counts as undeclared too, beside its real kind.
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['npm', 'npm-dev', 'npm-peer'] },
    },
    {
      name: 'nothing-unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'the-pure-core-needs-no-node',
      comment: 'The core decides, it does not act. Hashing is deterministic, so node:crypto may stay.',
      severity: 'error',
      from: { path: '^src/(domain|define|kernel)/|^machines/' },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?crypto$' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^dist/' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['sagacity-source', 'import', 'require', 'node', 'default', 'types'],
      mainFields: ['main', 'types'],
    },
  },
};
