import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readDocument } from '../../src/cli/plan/read-document.ts'
import { parseConfigFile } from '../../src/cli/config/sources.ts'
import { toConfig } from '../../src/cli/config/to-config.ts'
import { readDeclaredRules } from '../../src/control/changes/read-declared-rules.ts'
import { silentLogger } from '../../src/platform/run/log.ts'
import { readBackup } from '../../src/store/backup/read-backup.ts'
import { readUserProfiles } from '../../src/worker/engines/user-profiles.ts'
import { yamlSamples, yamlWords } from '../samples.ts'
import { spoiled } from '../spoil.ts'
import { insist, mayRefuseLater, type FuzzTarget } from '../target.ts'

/** One for a thread, gone with it. */
let folder: string | undefined
function fileWith(bytes: Buffer, name: string): string {
  if (folder === undefined) {
    const made = (folder = mkdtempSync(join(tmpdir(), 'flotilla-fuzz-')))
    process.once('exit', () => rmSync(made, { recursive: true, force: true }))
  }
  const path = join(folder, name)
  writeFileSync(path, bytes)
  return path
}

const yaml = spoiled(yamlSamples, yamlWords)
const profile = 'name: x\ncommand: [prog, "{{port}}"]\nready: { http: /health }\nserves: [/v1/x]\n'
const backup =
  '{"flotilla":"backup","format":1,"schema":8,"program":"0.1.0","made_at":1,"store":"sqlite","rows":{"models":1}}\n{"table":"models","row":{"name":"sim"}}\n{"flotilla":"end","rows":1,"sha256":"x"}\n'

export const documentTargets: readonly FuzzTarget[] = [
  {
    name: 'yaml-documents',
    reads: 'a document for flotilla apply',
    share: 0.3,
    cases: yaml,
    read: async (bytes) => void (await mayRefuseLater(() => readDocument(fileWith(bytes, 'document.yaml'), () => {}))),
  },
  {
    name: 'yaml-rules',
    reads: 'rules of the configuration, as JSON and as YAML',
    share: 0.3,
    cases: yaml,
    async read(bytes) {
      const path = fileWith(bytes, 'rules.yaml')
      const file = { value: path, where: 'x' }
      await mayRefuseLater(() => readDeclaredRules({ inline: undefined, file }, silentLogger))
      const inline = { value: bytes.toString(), where: 'x' }
      await mayRefuseLater(() => readDeclaredRules({ inline, file: undefined }, silentLogger))
    },
  },
  {
    name: 'yaml-config',
    reads: 'the configuration file',
    share: 0.3,
    cases: spoiled(
      ['listen: 127.0.0.1:8080\nlog_level: info\nlabels: {a: b}\n', 'data_dir: /x\n__proto__: 1\n'],
      [...yamlWords, 'listen: ', 'labels: '],
    ),
    async read(bytes) {
      await mayRefuseLater(async () => {
        const file = await parseConfigFile('flotilla.yaml', bytes.toString())
        return toConfig({ flags: new Map(), environment: new Map(), file, env: {} })
      })
    },
  },
  {
    name: 'yaml-engine-profiles',
    reads: "an engine's profile",
    share: 0.3,
    cases: spoiled([profile, `- ${profile.replaceAll('\n', '\n  ')}`], [...yamlWords, 'command: ', '{{', '}}']),
    read(bytes) {
      const path = fileWith(bytes, 'profiles.yaml')
      const { broken } = readUserProfiles(join(path, '..'))
      for (const { reason } of broken) insist(reason !== '', 'no reason')
    },
  },
  {
    name: 'backups',
    reads: 'a backup of the store',
    share: 0.1,
    cases: spoiled([backup], ['\n', '{"table":', '"row":{', '{"flotilla":']),
    async read(bytes) {
      let rows = 0
      const reader = { header: () => {}, row: () => void (rows += 1) }
      const isWhole = await mayRefuseLater(async () => {
        await readBackup(fileWith(bytes, 'backup.jsonl'), reader)
        return true
      })
      insist(isWhole === undefined, 'a backup without the right sum was taken')
    },
  },
]
