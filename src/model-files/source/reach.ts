import { lookup as dnsLookup, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { AppError } from '../../platform/errors.ts'
import { isIn, isPublic, isRange, readRanges } from '../../platform/address-ranges.ts'

/**
 * Where the files of sources may be fetched from: the internet, and what whoever runs this machine has allowed. Whoever may
 * name a source must not thereby reach what this machine reaches: its own services, its network, a cloud's metadata.
 */
export interface Reach {
  /** Throws for a host that is written as an address, and may not be reached. */
  checkHost(hostname: string): void
  /** Finds the addresses of a name for the connection itself, so that no other answer can come in between. */
  lookup: LookupFunction
}

/** For who asks for himself, at his own command. */
export const ANYWHERE = 'any'

/** Names of hosts, addresses and ranges. */
export function openReach(allowed: readonly string[]): Reach {
  const ranges = readRanges(allowed.filter(isRange))!
  const names = new Set(allowed.filter((entry) => !isRange(entry)).map((name) => name.toLowerCase()))
  const mayReach = (hostname: string, address: string): boolean =>
    names.has(ANYWHERE) || names.has(hostname.toLowerCase()) || isPublic(address) || isIn(ranges, address)
  return {
    checkHost(hostname) {
      const address = hostname.replace(/^\[|\]$/g, '')
      if (isIP(address) !== 0 && !mayReach(hostname, address)) throw refusal(hostname, address)
    },
    lookup(hostname, options, callback) {
      dnsLookup(hostname, { ...options, all: true }, (error, found: LookupAddress[]) => {
        if (error) return callback(error, [])
        // One that may not be is enough: which of them is taken is chance.
        const wrong = found.find(({ address }) => !mayReach(hostname, address))
        if (wrong) return callback(refusal(hostname, wrong.address), [])
        const [first] = found
        if (options.all === true || !first) callback(null, found)
        else callback(null, first.address, first.family)
      })
    },
  }
}

/** Without anything else said. */
export const internetOnly = openReach([])

function refusal(hostname: string, address: string): AppError {
  const host = hostname.replace(/^\[|\]$/g, '')
  const what =
    host === address
      ? `${host} is not an address of the internet`
      : `${host} is at ${address}, which is not an address of the internet`
  const how = `To allow it, start the worker and the frontend with --allow-sources ${host}`
  return new AppError(
    'forbidden',
    `Nothing is fetched from there: ${what}. ${how}, or with a range such as 192.168.0.0/16.`,
  )
}
