/*
 * The first file of Flotilla that runs: `node scripts/bootstrap.js <script.ts> [arguments]`.
 *
 * It makes sure that the dependencies are installed and that a Node able to run TypeScript is used, then runs the
 * script. Nothing is installed yet when it starts, so it and the .js files in lib/ are plain JavaScript without
 * dependencies. This file has no import statements and no modern syntax: an old Node must get as far as the message.
 */
var major = Number(process.versions.node.split('.')[0])
if (major < 18) {
  console.error(
    'Flotilla needs Node 18 or newer to start, and this is ' + process.version + '. Please install a newer one.',
  )
  process.exit(2)
} else {
  void import('./lib/start.js').then(function (module) {
    return module.start(process.argv.slice(2))
  })
}
