/** What a document may hold. No option of the configuration is called so: one is never taken for the other. */
export const documentKeys = ['models', 'rules', 'nodes'] as const
