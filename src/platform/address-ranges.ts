import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** Ranges outside the public internet: this machine, private networks, cloud metadata, and reserved ranges. */
const NOT_PUBLIC = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
]

const notPublic = listOf(NOT_PUBLIC)

/** Whether an address (without brackets) is public. An IPv4 address mapped into IPv6 is judged as IPv4. */
export function isPublic(address: string): boolean {
  return isAddress(address) && !isIn(notPublic, address)
}

/** Parses addresses and ranges; undefined when one of them is neither. */
export function readRanges(entries: readonly string[]): BlockList | undefined {
  return entries.every(isRange) ? listOf(entries) : undefined
}

export function isRange(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  if (!isAddress(address) || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (isIPv4(address) ? 32 : 128))
}

export function isIn(list: BlockList, address: string): boolean {
  const plain = unmapped(address)
  return list.check(plain, isIPv4(plain) ? 'ipv4' : 'ipv6')
}

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    const family = isIPv4(address) ? 'ipv4' : 'ipv6'
    list.addSubnet(address, Number(bits ?? (family === 'ipv4' ? 32 : 128)), family)
  }
  return list
}

function isAddress(text: string): boolean {
  return isIPv4(text) || isIPv6(text)
}

/** `::ffff:7f00:1` and `::ffff:127.0.0.1` are 127.0.0.1. */
function unmapped(address: string): string {
  if (isIPv4(address)) return address
  // Normalizes the notation: without zone, in hexadecimal.
  const text = URL.parse(`http://[${address.replace(/%.*$/, '')}]/`)?.hostname.slice(1, -1) ?? address
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(text) ?? []
  if (high === undefined || low === undefined) return text
  const number = Number.parseInt(high, 16) * 2 ** 16 + Number.parseInt(low, 16)
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.')
}
