import { fingerprints, oneOf, text } from './option-types.ts'

/** What is encrypted, with which certificates, and how peers are verified. */
export const tlsOptions = {
  tls: {
    type: oneOf(['off', 'self-signed']),
    value: 'off|self-signed',
    help: 'Encrypt the listener with a certificate that is made here; clients recognize it by its fingerprint, which is printed',
    default: () => 'off',
  },
  tls_cert: {
    type: text,
    value: 'path',
    help: 'Encrypt the listener with this certificate (PEM, with its chain); read again when the file changes',
    default: () => undefined,
  },
  tls_key: { type: text, value: 'path', help: 'Key of that certificate (PEM)', default: () => undefined },
  ca: {
    type: text,
    value: 'path',
    help: "Certificates (PEM) of the CAs that vouch for https frontends; without it the system's",
    default: () => undefined,
  },
  fingerprint: {
    type: fingerprints,
    value: 'sha256:…',
    help: 'Fingerprint of the certificate of an https frontend, as that prints it; no CA is consulted then',
    default: () => undefined,
  },
  data_tls: {
    type: oneOf(['auto', 'on', 'off']),
    value: 'auto|on|off',
    help: 'Encrypt connections between gateways and the data port, with certificates on both sides; auto: beyond this machine',
    default: () => 'auto',
  },
  nats_ca: {
    type: text,
    value: 'path',
    help: 'Certificates (PEM) of the CAs that vouch for the NATS server (tls://); nodes are told. Without it those that Node knows',
    default: () => undefined,
    alias: 'LOCALAI_NATS_TLS_CA',
  },
  nats_cert: {
    type: text,
    value: 'path',
    help: 'Certificate (PEM) to show to the NATS server',
    default: () => undefined,
    alias: 'LOCALAI_NATS_TLS_CERT',
  },
  nats_key: {
    type: text,
    value: 'path',
    help: 'Key of that certificate (PEM)',
    default: () => undefined,
    alias: 'LOCALAI_NATS_TLS_KEY',
  },
  bus_tls: {
    type: oneOf(['auto', 'on', 'off']),
    value: 'auto|on|off',
    help: "Encrypt the embedded bus, with a certificate of the cluster's own; auto: when it listens beyond this machine",
    default: () => 'auto',
  },
} as const
