/** The ids of clusters are UUIDs; a text that is longer than this is none. */
export const MOST_CLUSTER_ID = 100
