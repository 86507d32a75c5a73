import type { NodeRegistration } from '../../api/admin/schemas.ts'
import { SIGNATURE_LIFE_MS } from '../../api/node-signature.ts'
import { refuseProtocol, SPOKEN } from '../../platform/peer-versions.ts'
import { verify } from '../../bus/nkey.ts'
import { canonicalJson } from '../../core/lib/canonical-json.ts'
import { BUDGET_FORMS, parseBudget } from '../../core/nodes/budget.ts'
import { LABEL_LIMITS, labelProblem } from '../../core/nodes/labels.ts'
import { formatAddress, hostAndPort } from '../../platform/address.ts'
import { AppError } from '../../platform/errors.ts'

/** Before anything else is looked at: the rest of what another version says may have another shape. */
export function checkProtocol(who: 'worker' | 'gateway', said: unknown): void {
  const protocol = (said as { protocol?: unknown } | null | undefined)?.protocol
  if (typeof protocol !== 'number' || !Number.isInteger(protocol)) return
  if (protocol < SPOKEN.oldest || protocol > SPOKEN.newest) throw refuseProtocol(who, protocol, SPOKEN)
}

/** The worker holds the key it names, and says so now. */
export function checkProof(
  registration: NodeRegistration,
  signature: string,
  nowMs: number,
  key = registration.public_key,
): void {
  if (!verify(key, canonicalJson(registration), signature)) {
    throw new AppError('unauthorized', 'The signature does not prove that the worker holds the key it names.')
  }
  if (Math.abs(nowMs - registration.signed_at) > SIGNATURE_LIFE_MS) {
    throw new AppError(
      'unauthorized',
      "The registration was signed more than 5 minutes away from this frontend's time. Set both clocks.",
    )
  }
}

/** What a schema cannot say: labels, budget and address. Returns the address with a host that others can reach. */
export function checkDeclaration(registration: NodeRegistration, remoteAddress: string | undefined): string {
  const { labels, auto_labels: autoLabels, vram_budget: budget } = registration
  checkLabels('labels', labels)
  checkLabels('auto_labels', autoLabels)
  if (budget !== null && !parseBudget(budget)) {
    throw new AppError('bad_request', `vram_budget: "${budget}" is no budget: ${BUDGET_FORMS}.`, {
      details: { param: 'vram_budget' },
    })
  }
  return reachableFrom(registration.address, remoteAddress)
}

/** Throws what is wrong with the first label that is wrong, or with their number. */
export function checkLabels(param: string, labels: Readonly<Record<string, string>>): void {
  const entries = Object.entries(labels)
  const [problem] = entries.flatMap(([key, value]) => labelProblem(key, value) ?? [])
  if (problem !== undefined) throw new AppError('bad_request', `${param}: ${problem}.`, { details: { param } })
  if (entries.length <= LABEL_LIMITS.perNode) return
  throw new AppError(
    'bad_request',
    `${param}: a node may have ${LABEL_LIMITS.perNode} labels of each source, not ${entries.length}.`,
    { details: { param } },
  )
}

/** A worker that listens everywhere does not know how others see it; the connection it registers over does. */
function reachableFrom(address: string, remoteAddress: string | undefined): string {
  const parsed = hostAndPort(address)
  if (!parsed || parsed.port === 0) {
    throw new AppError('bad_request', `address: "${address}" is no host:port.`, { details: { param: 'address' } })
  }
  if (parsed.host !== '0.0.0.0' && parsed.host !== '::') return formatAddress(parsed)
  if (!remoteAddress) throw new AppError('bad_request', 'address: the host is empty, and the connection names none.')
  return formatAddress({ host: remoteAddress.replace(/^::ffff:(?=\d+\.)/, ''), port: parsed.port })
}
