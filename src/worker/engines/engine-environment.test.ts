import { expect, test } from 'vitest'
import { engineEnvironment } from './engine-environment.ts'

test('an engine gets the environment of the worker without secrets of the cluster, and what it is told', () => {
  const secrets = {
    FLOTILLA_TOKEN: 'flj_x',
    FLOTILLA_ADMIN_KEY: 'fla_x',
    PGPASSWORD: 'x',
    DATABASE_URL: 'postgres://u:x@h/d',
    NATS_CREDS: 'x',
    CREDENTIALS_DIRECTORY: '/run/credentials/x',
  }
  const worker = { PATH: '/bin', HOME: '/home/x', CUDA_HOME: '/cuda', LANG: undefined, ...secrets }
  expect(engineEnvironment(worker, { CUDA_VISIBLE_DEVICES: '0', HOME: '/x' })).toEqual({
    PATH: '/bin',
    HOME: '/x',
    CUDA_HOME: '/cuda',
    CUDA_VISIBLE_DEVICES: '0',
  })
})
