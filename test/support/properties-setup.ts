import fc from 'fast-check'

/**
 * Property tests try the same cases in every run, so that a run that failed fails again and nobody's change is blamed for
 * another's luck. FLOTILLA_TEST_SEED=<number> tries others.
 */
fc.configureGlobal({ seed: Number(process.env['FLOTILLA_TEST_SEED'] ?? 1) })
