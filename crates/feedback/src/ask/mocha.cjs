'use strict';
// A reporter for mocha: prints as `spec` does, and writes all tests with how they ended.
const fs = require('fs');
const path = require('path');
const main = fs.realpathSync(process.argv[1]);
const Mocha = require(require.resolve('mocha', { paths: [path.dirname(main), process.cwd()] }));

module.exports = class extends Mocha.reporters.Spec {
  constructor(runner, options) {
    super(runner, options);
    const files = new Map();
    const take = (status) => (test, error) => {
      const titles = [];
      for (let suite = test.parent; suite && !suite.root; suite = suite.parent) titles.unshift(suite.title);
      const name = test.file || '';
      if (!files.has(name)) files.set(name, []);
      files.get(name).push({
        ancestorTitles: titles,
        title: test.title,
        status,
        duration: test.duration,
        failureMessages: error ? [String(error.stack || error.message || error)] : [],
      });
    };
    runner.on('pass', take('passed'));
    runner.on('fail', take('failed'));
    runner.on('pending', take('pending'));
    runner.once('end', () => {
      const all = [...files.values()].flat();
      const count = (status) => all.filter((test) => test.status === status).length;
      const document = {
        runner: 'mocha',
        numTotalTests: all.length,
        numPassedTests: count('passed'),
        numFailedTests: count('failed'),
        numPendingTests: count('pending'),
        testResults: [...files].map(([name, assertionResults]) => ({ name, status: 'done', assertionResults })),
      };
      try {
        fs.writeFileSync(path.join(__dirname, 'out', `mocha-${process.pid}.json`), `${JSON.stringify(document)}\n`);
      } catch {
        // What it prints is there.
      }
    });
  }
};
