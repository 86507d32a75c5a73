import { rmSync } from 'node:fs'
import { formatAddress } from '../../platform/address.ts'
import { isFull } from '../../platform/full-disk.ts'
import { writeWhole } from '../../platform/write-whole.ts'
import type { Frontend, FrontendOptions } from './start-frontend.ts'
import { markOf } from '../../store/driver/open-file.ts'

/**
 * Announces on this machine that it serves: by `endpoint.json` for the CLI, and by the ready file if one is configured.
 */
export function announce(
  { url, address, tls, bus, file: database }: Frontend,
  { config, folder, life, log }: FrontendOptions,
): void {
  const { ready_file: readyFile } = config
  const files = [folder.file('endpoint.json'), ...(readyFile ? [readyFile] : [])]
  const write = (): void => {
    const fingerprint = tls?.fingerprint
    const contents = [
      {
        url,
        listen: formatAddress(address),
        fingerprint,
        self_signed: tls?.isSelfSigned,
        database: database && markOf(database),
      },
      { url, bus: bus.url, pid: process.pid, fingerprint },
    ]
    for (const [i, file] of files.entries()) {
      try {
        writeWhole(file, `${JSON.stringify(contents[i])}\n`)
      } catch (error) {
        // It serves nevertheless: commands on this machine then need --url and --key.
        if (!isFull(error)) throw error
        log.error({ file }, 'the disk is full: commands on this machine do not find this frontend by themselves')
      }
    }
  }
  write()
  tls?.onReplaced(write)
  for (const file of files) life.own(file, () => rmSync(file, { force: true }))
}
