import { readdir, readFile } from 'node:fs/promises'

/**
 * With a single thread, queued work runs in the order in which it was queued. Choosing tokens can then be queued behind
 * the computation that it needs, and a step wakes one thread once instead of several in sequence, which matters when
 * the cores are busy. llama.cpp's own threads are not affected.
 *
 * Must be called before anything uses those threads. Returns whether it worked; false if that cannot be verified.
 */
export async function useOneThread(): Promise<boolean> {
  process.env['UV_THREADPOOL_SIZE'] ??= '1'
  try {
    const names = (await readdir('/proc/self/task')).map((id) => readFile(`/proc/self/task/${id}/comm`, 'utf8'))
    const workers = (await Promise.all(names)).filter((name) => name.trim() === 'libuv-worker')
    return workers.length === 1
  } catch {
    return false
  }
}
