import type { BaseLocationHook } from 'wouter'
import { useBrowserLocation, useSearch } from 'wouter/use-browser-location'

/**
 * The router decodes addresses by halves: `%23` stays, `%25` does not. Names may hold anything, so it gets nothing to
 * decode, and each part of an address is decoded once, where it is read.
 */
export const useRawLocation: BaseLocationHook = Object.assign(useRawPath, { searchHook: useRawSearch })

function useRawPath(): ReturnType<typeof useBrowserLocation> {
  const [path, navigate] = useBrowserLocation()
  return [kept(path), navigate]
}

function useRawSearch(): string {
  return kept(useSearch())
}

const kept = (text: string): string => text.replaceAll('%', '%25')

/** A part of an address as it was meant; one that nobody of ours has written is taken as it is. */
export function partOf(raw: string): string {
  try {
    return decodeURIComponent(raw)
  } catch {
    return raw
  }
}
