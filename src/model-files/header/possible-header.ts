import type { ModelHeader } from '../../core/types.ts'
import { brokenFile } from './byte-reader.ts'

/** The header, unless a product of its figures exceeds the range of exact numbers: each may be plausible by itself. */
export function possibleHeader(header: ModelHeader, label: string): ModelHeader {
  const { weightsBytes, hostBytes, stateBytes, keyElements, valueElements } = header
  const figures = [weightsBytes, hostBytes, stateBytes, ...keyElements, ...valueElements]
  if (figures.every((figure) => Number.isSafeInteger(figure))) return header
  throw brokenFile(label, 'its figures are larger than any model')
}
