-- works from: 0009
-- The certificate by which the data port of a node is known; none when it is not encrypted.
alter table nodes add column tls_fingerprint text;
