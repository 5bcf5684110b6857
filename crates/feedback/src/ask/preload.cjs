'use strict';
// Loaded by every node that a check starts. Where that is jest, vitest or mocha, it is asked for a report beside what it prints.
try {
  const fs = require('fs');
  const path = require('path');
  const { isMainThread } = require('worker_threads');
  const words = process.argv.slice(2);
  const has = (...names) => words.some((word) => names.some((name) => word === name || word.startsWith(`${name}=`)));
  const file = (name) => path.join(__dirname, 'out', `${name}-${process.pid}.json`);
  const main = isMainThread && process.argv[1] ? fs.realpathSync(process.argv[1]).replace(/\\/g, '/') : '';
  const asks = (...more) => process.argv.splice(2, 0, ...more);
  if (has('--help', '-h', '--version', '-v', '--watch', '--watchAll')) {
    // It runs no tests, or never ends.
  } else if (/\/jest(-cli)?\/bin\/jest\.js$/.test(main)) {
    if (!has('--json', '--outputFile', '--listTests', '--showConfig', '--clearCache', '--init')) {
      asks('--json', `--outputFile=${file('jest')}`);
    }
  } else if (/\/vitest\/(vitest\.mjs|dist\/cli\.js)$/.test(main)) {
    const runs = !words[0] || words[0].startsWith('-') || ['run', 'related'].includes(words[0]) || /[./]/.test(words[0]);
    if (runs && !has('--outputFile', '--outputFile.json', '--mergeReports')) {
      const reporters = has('--reporter') ? [] : ['--reporter=default'];
      process.argv.push(...reporters, '--reporter=json', `--outputFile.json=${file('vitest')}`);
    }
  } else if (/\/mocha\/bin\/_?mocha(\.js)?$/.test(main)) {
    if (!has('--reporter', '-R', '--dry-run')) {
      asks('--reporter', path.join(__dirname, 'mocha.cjs'));
    }
  }
} catch {
  // Whoever cannot be asked is read by what they print.
}
