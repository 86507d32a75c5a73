/** As one would set them up for this: one core, kept-alive connections to the upstreams, no buffering of streams, no log. */

export interface NginxPorts {
  plain: number
  tls: number
  certificate: { cert: string; key: string }
}

export function nginxConfig(ports: NginxPorts, upstreams: readonly number[], folder: string): string {
  const { plain, tls, certificate } = ports
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `
daemon off;
master_process off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log ${folder}/nginx.log crit;
worker_rlimit_nofile 20000;
events { worker_connections 19000; }
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  keepalive_requests 1000000;
  upstream replicas {
    least_conn;
    ${upstreams.map((upstream) => `server 127.0.0.1:${upstream};`).join('\n    ')}
    keepalive 512;
    keepalive_requests 1000000;
  }
  server {
    listen 127.0.0.1:${plain};
    listen 127.0.0.1:${tls} ssl;
    ssl_certificate ${certificate.cert};
    ssl_certificate_key ${certificate.key};
    location / {
      proxy_pass http://replicas;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 300s;
    }
  }
}
`
}

export function haproxyConfig(port: number, upstreams: readonly number[]): string {
  return `
global
  nbthread 1
  maxconn 8000
  tune.pool-low-fd-ratio 90
  tune.pool-high-fd-ratio 95
defaults
  mode http
  maxconn 8000
  option http-keep-alive
  option http-no-delay
  http-reuse always
  timeout connect 5s
  timeout client 300s
  timeout server 300s
frontend clients
  bind 127.0.0.1:${port}
  default_backend replicas
backend replicas
  balance leastconn
  ${upstreams.map((upstream, i) => `server replica${i} 127.0.0.1:${upstream}`).join('\n  ')}
`
}
