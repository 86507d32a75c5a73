import { announce } from '../compose/announce.ts'
import { banner } from '../../cli/banner.ts'
import type { Config } from '../../cli/config/options.ts'
import { dashboardLink } from '../front/dashboard-link.ts'
import { isLocalInferenceOn } from '../compose/local-inference.ts'
import { isLoopback } from '../../platform/address.ts'
import { openDataFolder } from '../../platform/data-folder.ts'
import { version } from '../../platform/version.ts'
import { openTracing } from '../compose/open-tracing.ts'
import { roleMetrics } from '../compose/role-metrics.ts'
import { runRoles } from '../run-roles.ts'
import { startFrontend, type Frontend } from '../compose/start-frontend.ts'

/** `flotilla frontend`: control and gateway, for workers elsewhere to join. */
export function runFrontend(config: Config): Promise<number> {
  return runRoles(config, async (log, life) => {
    const folder = openDataFolder(config.data)
    life.own('data folder', () => folder.dispose())
    const metrics = roleMetrics('frontend')
    const tracer = openTracing(config, { log, life, metrics })?.('gateway')
    const options = { config, folder, log, life, metrics, tracer }
    const frontend = await startFrontend(options)
    announce(frontend, options)
    const colour = process.stdout.isTTY && !process.env['NO_COLOR']
    const dashboard = await dashboardLink(frontend, process.stdout.isTTY)
    const hint = joinHint(frontend, folder.file('join.token'))
    const { url, tls } = frontend
    const fingerprint = tls?.fingerprint
    const localInference = isLocalInferenceOn(config)
    const shown = {
      url,
      fingerprint,
      localInference,
      dashboard,
      folder: folder.path,
      models: [],
      version,
      colour,
      hint,
    }
    return { banner: banner(shown) }
  })
}

/** The command by which another machine joins. The token itself stays in its file. */
function joinHint({ url, address, tls }: Frontend, tokenFile: string): string {
  const from = isLoopback(address.host)
    ? `Only this machine can join: start with --listen 0.0.0.0:${address.port} to let others in.\n`
    : ''
  const join =
    address.host === '0.0.0.0' || address.host === '::'
      ? `${new URL(url).protocol}//<this machine>:${address.port}`
      : url
  const known = tls?.isSelfSigned ? ` --fingerprint ${tls.fingerprint}` : ''
  return `Join a machine:\n\n  flotilla worker --join ${join}${known} --token-file <copy of ${tokenFile}>\n\n${from}`
}
