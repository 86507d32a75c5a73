/** So many smaller ones are tried at most. */
const MOST_TRIES = 3000

/** A part of the bytes that still fails: pieces are left out, large ones first, as long as `fails` says yes. */
export async function shrinkBytes(bytes: Buffer, fails: (bytes: Buffer) => Promise<boolean>): Promise<Buffer> {
  let smallest = bytes
  let tries = 0
  for (let piece = Math.ceil(bytes.length / 2); piece >= 1; piece = piece === 1 ? 0 : Math.ceil(piece / 2)) {
    for (let at = 0; at < smallest.length && tries < MOST_TRIES; tries += 1) {
      const without = Buffer.concat([smallest.subarray(0, at), smallest.subarray(at + piece)])
      if (await fails(without)) smallest = without
      else at += piece
    }
  }
  return smallest
}
