// Reads vitest's JSON report and prints `PASSED FAILED`. The report is the authority on single tests, vitest's exit
// code on the run as a whole: a run that ended badly never counts as clean, even if its report lists no failed test.
// Whatever was not run (skipped, pending, todo) counts as failed and is named on stderr.
//
// Usage: node .ci/count-tests.mjs REPORT EXIT_CODE

import { existsSync, readFileSync } from 'node:fs';

const [reportFile = '', exitCode = ''] = process.argv.slice(2);

if (!existsSync(reportFile)) {
  complain('the test run left no report');
  console.log('0 1');
} else {
  const { passed, failed } = count(JSON.parse(readFileSync(reportFile, 'utf8')), Number(exitCode));
  console.log(`${passed} ${failed}`);
}

function count(report, exit) {
  let passed = 0;
  let failed = 0;
  for (const file of report.testResults) {
    let failedHere = 0;
    for (const test of file.assertionResults) {
      if (test.status === 'passed') {
        passed += 1;
        continue;
      }
      failedHere += 1;
      if (test.status !== 'failed') complain(`not run (${test.status}): ${file.name}: ${test.fullName}`);
    }
    // A file that does not load, or whose hooks fail, has no failed test of its own.
    if (file.status === 'failed' && failedHere === 0) {
      failedHere = 1;
      complain(`failed outside of its tests: ${file.name}`);
    }
    failed += failedHere;
  }
  if (failed === 0 && (exit !== 0 || report.success !== true)) {
    failed = 1;
    complain(`no test failed, yet the run did (exit code ${exit})`);
  }
  if (failed === 0 && passed === 0) {
    failed = 1;
    complain('no test ran');
  }
  return { passed, failed };
}

function complain(sentence) {
  console.error(`tests: ${sentence}`);
}
