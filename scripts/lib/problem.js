/** Something that a person can put right: shown as one line, without a stack, after the output that explains it. */
export class Problem extends Error {
  /**
   * @param {string} message
   * @param {{ exitCode?: number, output?: string }} [extra]
   */
  constructor(message, { exitCode = 1, output = '' } = {}) {
    super(message)
    this.exitCode = exitCode
    this.output = output
  }
}
