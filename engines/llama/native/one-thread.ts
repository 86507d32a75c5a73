import { readdir, readFile } from 'node:fs/promises'

/**
 * Work that is given to other threads is done in the order in which it was given when there is only one of them. Choosing
 * tokens can then be queued behind the computation that it needs, and a step wakes one thread once instead of several one
 * after another, which matters where the cores are busy. llama.cpp's own threads are not concerned.
 *
 * Must be called before anything uses those threads. Returns whether it worked; where it cannot be seen, it did not.
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
