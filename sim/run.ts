import { runSeeds } from './run-seeds.ts'

const { stdout, stderr, exitCode } = runSeeds(process.argv.slice(2))
process.stdout.write(stdout)
process.stderr.write(stderr)
process.exitCode = exitCode
