import type { Node, Replica, World } from '../types.ts'

/** What is told of a cluster, under the names that the API gives it: `src/api` holds its schemas to these types. */

/** How far the files of a replica have come. Totals are null while they are not known. */
export interface FileProgress {
  done_bytes: number
  total_bytes: number | null
  bytes_per_s: number | null
  /** Which of how many files, from 1 on. */
  file_index?: number | undefined
  total_files?: number | undefined
}

export interface ToldReplica extends Replica {
  progress: FileProgress | null
}

export interface ToldNode extends Node {
  /** Where a second process with the key of this node called from last, and when. */
  refused?: { address: string; atMs: number } | null
}

/** The world, with what only explanations look at. */
export interface ToldWorld extends World {
  nodes: readonly ToldNode[]
  replicas: readonly ToldReplica[]
}

/** The replica of a model that has come furthest on its way to ready. */
export interface Loading {
  model: string
  state: 'waiting' | 'reserved' | 'installing' | 'staging' | 'loading'
  /** Null while no node has been chosen. */
  node: string | null
  /** In percent, of the bytes; 0 while it is not known. */
  progress: number
  bytes_sent: number
  total_bytes: number
  file_index: number
  total_files: number
  /** Left out until there is a rate to tell it by. */
  eta_seconds?: number | undefined
}

export interface LoadStatus {
  state: 'ready' | 'loading' | 'waiting' | 'refused' | 'failed' | 'stopped' | 'unknown'
  loading: Loading | null
  /** For a person: what is wrong or waited for, and what would help. */
  reason: string | null
  /** When it is tried again by itself; null when nothing is planned. */
  next_attempt_at: number | null
  /** No waiting helps: a person has to change something first. */
  is_final?: boolean | undefined
}

export interface Problem {
  kind: 'cluster' | 'store' | 'gateway' | 'process' | 'frozen' | 'node' | 'approval' | 'rule' | 'replica'
  /** An error: something that was asked for is missing. A warning: it waits for a person, or mends itself. */
  severity: 'error' | 'warning'
  node_id: string | null
  node_name: string | null
  /** Of the replica that it is about. */
  key: string | null
  model_name: string | null
  text: string
  /** What would help first; null when that is not known. */
  advice: string | null
}

/** How far a rule is met. */
export interface RuleStanding {
  model_name: string
  state: 'met' | 'starting' | 'unmet' | 'cooling'
  /** Replicas that it asks for as things are, and those that serve. */
  wanted: number
  ready: number
  /** Why it is not met; null when it is. */
  reason: string | null
}

/** What follows from saving a model. */
export interface ModelEffect {
  /** False when the model means the same as before: nothing is restarted. */
  is_changed: boolean
  /** Replicas of the old meaning that are replaced. */
  replaced: number
  /** The same for a person. */
  text: string
}
