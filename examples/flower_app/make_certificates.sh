#!/usr/bin/env bash
# Certificates for a federation on this machine: an authority, and a server on 127.0.0.1.
# usage: make_certificates.sh [folder]    Made for trying things out, valid for 30 days.
set -euo pipefail
umask 077
folder="${1:-certificates}"
mkdir -p "$folder"
cd "$folder"

openssl ecparam -name prime256v1 -genkey -noout -out ca.key
openssl req -new -x509 -sha256 -key ca.key -days 30 -subj "/CN=airfeel example authority" \
  -addext "basicConstraints=critical,CA:TRUE" -addext "keyUsage=critical,keyCertSign,cRLSign" -out ca.crt

openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt -out server.key
openssl req -new -sha256 -key server.key -subj "/CN=127.0.0.1" -out server.csr
printf '%s\n' "subjectAltName=IP:127.0.0.1,DNS:localhost" "basicConstraints=CA:FALSE" \
  "keyUsage=digitalSignature" "extendedKeyUsage=serverAuth" >server.ext
openssl x509 -req -sha256 -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 \
  -extfile server.ext -out server.pem 2>/dev/null
rm -f server.csr server.ext ca.srl
echo "$folder: ca.crt, server.pem, server.key"
