import { lookup as dnsLookup, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { AppError } from '../../platform/errors.ts'
import { isIn, isPublic, isRange, readRanges } from '../../platform/address-ranges.ts'

/**
 * Where source files may be fetched from: the public internet, and what the operator of this machine has allowed. A
 * client that may name sources must not reach what this machine can reach: its own services, its network, a cloud's
 * metadata.
 */
export interface Reach {
  /** Throws for a host in the form of an address that is not allowed. */
  checkHost(hostname: string): void
  /** Resolves and checks names for the connection itself, so that no different answer can slip in between. */
  lookup: LookupFunction
}

/** For a person's own command on the own machine. */
export const ANYWHERE = 'any'

/** From names of hosts, addresses and ranges. */
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
        // One forbidden address is enough to refuse: Node may choose any of them.
        const wrong = found.find(({ address }) => !mayReach(hostname, address))
        if (wrong) return callback(refusal(hostname, wrong.address), [])
        const [first] = found
        if (options.all === true || !first) callback(null, found)
        else callback(null, first.address, first.family)
      })
    },
  }
}

/** The default. */
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
