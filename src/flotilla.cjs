#!/usr/bin/env node
/*
 * The first file of an installed Flotilla that runs. An old Node must get as far as saying which one is needed, so this
 * file has no modern syntax, loads nothing before that, and its first line has no option that an old Node does not know.
 */
'use strict'
var path = require('path')

var needed = require('../package.json').engines.node.replace(/[^0-9.]/g, '')
var main = path.join(__dirname, 'main.js')
/* The first reaches worker threads and children too; the second keeps 20 MB from being set aside for young objects. */
var flags = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=1']

if (isOlder(process.versions.node, needed)) {
  process.stderr.write(
    'Flotilla needs Node ' +
      needed +
      ' or newer, and this is ' +
      process.versions.node +
      ' (' +
      process.execPath +
      '). ' +
      'Install a newer Node, or run Flotilla from its container image or a copy of its repository, which bring their own.\n',
  )
  process.exitCode = 2
} else {
  restart()
  /* Where this process cannot become another one: the same, with warnings of Node in between. */
  process.argv[1] = main
  void import('./main.js')
}

function isOlder(version, least) {
  var have = version.split('.').map(Number)
  var want = least.split('.').map(Number)
  return have[0] < want[0] || (have[0] === want[0] && have[1] < (want[1] || 0))
}

/* This very process goes on with the flags: no second one has to pass on signals, and its id stays. */
function restart() {
  if (process.platform === 'win32' || typeof process.execve !== 'function') return
  try {
    /* That `execve` is experimental. */
    process.removeAllListeners('warning')
    process.execve(
      process.execPath,
      [process.execPath].concat(flags, process.execArgv, [main], process.argv.slice(2)),
      process.env,
    )
  } catch (error) {
    void error
    /* Not allowed here, by Node's permission model for one. */
  }
}
