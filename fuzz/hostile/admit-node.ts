import type { NodeRegistration, Registered } from '../../src/api/admin/schemas.ts'
import type { BusAddress } from '../../src/bus/connect.ts'
import { newSeed, publicKeyOf, sign } from '../../src/bus/nkey.ts'
import { canonicalJson } from '../../src/core/lib/canonical-json.ts'
import { SPOKEN } from '../../src/platform/peer-versions.ts'

export interface AdmittedNode {
  id: string
  bootId: string
  /** What it needs for the bus. */
  address: BusAddress
}

/** Registers a node at a frontend that approves it at once. */
export async function admitNode(url: string, joinToken: string, name: string): Promise<AdmittedNode> {
  const seed = newSeed()
  const registration = registrationOf(name, publicKeyOf(seed))
  const response = await fetch(`${url}/api/node/register`, {
    method: 'POST',
    headers: { authorization: `Bearer ${joinToken}` },
    body: JSON.stringify({ registration, signature: sign(seed, canonicalJson(registration)) }),
  })
  if (!response.ok) throw new Error(`${name} was refused: ${await response.text()}`)
  const { node_id: id, credentials } = (await response.json()) as Registered
  if (!credentials) throw new Error(`${name} is not approved`)
  const { bus_url: busUrl, bus_jwt: jwt } = credentials
  const address = { url: busUrl, seed, jwt: jwt === null ? undefined : () => jwt }
  return { id, bootId: registration.boot_id, address }
}

function registrationOf(name: string, publicKey: string): NodeRegistration {
  return {
    protocol: SPOKEN.newest,
    name,
    node_type: 'backend',
    public_key: publicKey,
    address: '127.0.0.1:9',
    version: 'fuzz',
    boot_id: `boot of ${name}`,
    max_replicas_per_model: 4,
    vram_budget: null,
    labels: {},
    auto_labels: {},
    signed_at: Date.now(),
  }
}
