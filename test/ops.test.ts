import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { commands } from '../src/cli/commands.ts'
import { options, variableOf, type OptionName } from '../src/cli/config/options.ts'
import { toConfig } from '../src/cli/config/to-config.ts'
import { fromEnvironment } from '../src/cli/config/sources.ts'
import { tempFolder } from './support/temp-folder.ts'

/** What is in ops cannot be run here: that it names what there is, and that its numbers go together, can be checked. */
const ops = fileURLToPath(new URL('../ops', import.meta.url))
const read = (file: string): string => readFileSync(join(ops, file), 'utf8')
const variables = new Set((Object.keys(options) as OptionName[]).map(variableOf))

type Env = Record<string, string>

/** Values that the program would refuse throw. */
function configOf(env: Env, command: string) {
  const unknown = Object.keys(env).filter((name) => name.startsWith('FLOTILLA_') && !variables.has(name))
  expect(unknown).toEqual([])
  const names = Object.keys(options) as OptionName[]
  return toConfig({ flags: new Map(), environment: fromEnvironment(env, names), file: undefined, env, command })
}

const isCommand = (name: string | undefined): boolean => commands.some((command) => command.name === name)

describe('the Dockerfile', () => {
  const lines = read('Dockerfile').split('\n')

  test('runs the program as nobody special, with a health check', () => {
    const last = lines.findLastIndex((line) => line.startsWith('FROM '))
    const stage = lines.slice(last).join('\n')
    expect(stage).toMatch(/^USER node$/m)
    expect(stage.indexOf('USER node')).toBeLessThan(stage.indexOf('ENTRYPOINT'))
    expect(stage).toMatch(/^HEALTHCHECK .*\n {2}CMD .*\/readyz/m)
    expect(stage).toContain('ENTRYPOINT ["flotilla"]')
  })

  test('names options that there are, and copies what the build makes', () => {
    const env = Object.fromEntries([...lines.join('\n').matchAll(/(FLOTILLA_\w+)=(\S+)/g)].map(([, k, v]) => [k!, v!]))
    expect(configOf(env, 'up')).toMatchObject({ data: '/data', listen: { host: '0.0.0.0', port: 8080 } })
    expect(readFileSync(join(ops, '../scripts/build.ts'), 'utf8')).toContain("bin: { flotilla: 'src/flotilla.cjs' }")
    const sent = read('Dockerfile.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
    const there = new Set(readdirSync(join(ops, '..')))
    expect(sent.map((line) => line.slice(1)).filter((name) => !there.has(name))).toEqual([])
  })
})

interface Service {
  command?: string[]
  environment?: Env
  stop_grace_period?: string
  secrets?: string[]
  depends_on?: string[] | Record<string, object>
  volumes?: string[]
}

describe.each(['compose/single.yaml', 'compose/cluster.yaml'])('%s', (file) => {
  const written = parse(read(file), { merge: true }) as Partial<Record<string, Record<string, Service>>>
  const { services = {}, secrets = {}, volumes = {} } = written

  test('names commands, options, secrets, volumes and services that there are', () => {
    for (const [name, service] of Object.entries(services)) {
      const { command = [], environment = {}, stop_grace_period: grace } = service
      expect([name, (service.secrets ?? []).filter((one) => !(one in secrets))]).toEqual([name, []])
      const needed = Array.isArray(service.depends_on) ? service.depends_on : Object.keys(service.depends_on ?? {})
      expect([name, needed.filter((one) => !(one in services))]).toEqual([name, []])
      const named = (service.volumes ?? []).map((one) => one.split(':')[0]!).filter((one) => !/^[./]/.test(one))
      expect([name, named.filter((one) => !(one in volumes))]).toEqual([name, []])
      if (!Object.keys(environment).some((one) => one.startsWith('FLOTILLA_'))) continue
      expect([name, isCommand(command[0])]).toEqual([name, true])
      const { drain_s: drainS } = configOf(environment, command[0]!)
      expect(parseInt(grace ?? '0', 10)).toBeGreaterThan(drainS)
    }
  })
})

interface Pod {
  terminationGracePeriodSeconds?: number
  volumes?: { name: string }[]
  initContainers?: Container[]
  containers: Container[]
}
interface Container {
  name: string
  args?: string[]
  env?: { name: string; value?: string }[]
  ports?: { name: string; containerPort: number }[]
  volumeMounts?: { name: string }[]
  lifecycle?: { preStop: { exec: { command: string[] } } }
  [probe: `${string}Probe`]: { httpGet?: { path: string; port: string } } | undefined
}
interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace: string }
  spec: {
    selector: Record<string, unknown>
    template?: { metadata: { labels: object }; spec: Pod }
    volumeClaimTemplates?: { metadata: { name: string } }[]
    ports?: { targetPort: string }[]
  }
}

describe('kubernetes', () => {
  const files = readdirSync(join(ops, 'kubernetes')).filter((name) => name.endsWith('.yaml'))
  const manifests = files.flatMap((name) =>
    parseAllDocuments(read(`kubernetes/${name}`)).map((document) => document.toJS() as Manifest),
  )
  const workloads = manifests.flatMap(({ kind, metadata, spec }) =>
    spec.template ? [{ kind, name: metadata.name, spec, pod: spec.template.spec }] : [],
  )

  test('what is selected is what is labelled, and all is in one namespace', () => {
    expect(new Set(manifests.map(({ metadata }) => metadata.namespace))).toEqual(new Set(['flotilla']))
    const labels = workloads.map(({ spec }) => spec.template!.metadata.labels)
    for (const { spec, pod, name } of workloads) {
      expect([name, spec.selector['matchLabels']]).toEqual([name, spec.template!.metadata.labels])
      const there = [...(pod.volumes ?? []), ...(spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata)]
      const mounted = [...(pod.initContainers ?? []), ...pod.containers].flatMap((one) => one.volumeMounts ?? [])
      const gone = mounted.filter((mount) => !there.some((volume) => volume.name === mount.name))
      expect([name, gone]).toEqual([name, []])
    }
    for (const { spec } of manifests.filter(({ kind }) => kind === 'Service'))
      expect(labels).toContainEqual(spec.selector)
  })

  test.each(workloads.filter(({ pod }) => pod.containers[0]!.args?.every((arg) => isCommand(arg))))(
    '$name has options that there are, probes at ports that are open, and time to drain',
    ({ pod }) => {
      const [container] = pod.containers as [Container]
      const env = Object.fromEntries(
        (container.env ?? []).map(({ name, value }) => [
          name,
          value ?? (name === 'FLOTILLA_DATABASE_URL' ? 'postgres://x' : 'x'),
        ]),
      )
      const { drain_s: drainS, health_listen: health } = configOf(env, container.args![0]!)
      const hookS = Number(container.lifecycle?.preStop.exec.command.at(-1) ?? 0)
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(drainS + hookS)
      for (const kind of ['readinessProbe', 'livenessProbe', 'startupProbe'] as const) {
        const { path, port } = container[kind]!.httpGet!
        expect(path).toBe(kind === 'readinessProbe' ? '/readyz' : '/healthz')
        const open = container.ports!.find(({ name }) => name === port)!.containerPort
        expect(open).toBe(health?.port ?? 8080)
      }
    },
  )
})

describe('systemd', () => {
  const units = readdirSync(join(ops, 'systemd')).filter((name) => name.endsWith('.service'))
  const isThere = (program: string): boolean => {
    try {
      execFileSync(program, ['--version'], { stdio: 'ignore' })
      return true
    } catch {
      return false
    }
  }

  test.each(units)('%s runs a command with options that there are, and leaves time to drain', (unit) => {
    const text = read(`systemd/${unit}`)
    const [, command] = /^ExecStart=\S+ (\w+)$/m.exec(text)!
    expect(isCommand(command)).toBe(true)
    const env = Object.fromEntries([...text.matchAll(/(FLOTILLA_\w+)=(\S+)/g)].map(([, k, v]) => [k!, v!]))
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(text)![1])).toBeGreaterThan(configOf(env, command!).drain_s)
    expect(text).toMatch(/^User=(?!root)/m)
  })

  test.skipIf(!isThere('systemd-analyze'))('systemd finds nothing wrong with them', () => {
    const folder = tempFolder()
    for (const unit of units) {
      const text = read(`systemd/${unit}`).replace('/usr/local/bin/flotilla', process.execPath)
      writeFileSync(join(folder, unit), text)
    }
    const paths = units.map((unit) => join(folder, unit))
    // Throws, with what is wrong, where there is something.
    const said = execFileSync('systemd-analyze', ['verify', '--man=no', ...paths], { encoding: 'utf8', stdio: 'pipe' })
    expect(said).toBe('')
  })
})
