#!/usr/bin/env python3
"""Who signed a cartridge, from the format's rules alone: verify_export.py FILE... recomputes the ROM manifest from the
live content, checks the signature with the `cryptography` package, and prints one JSON object a file:
{"manifest", "keyid", "objects"}. Exits 1 at the first thing that does not hold. Shares nothing with the crate."""
import base64
import hashlib
import json
import sqlite3
import sys
import zlib

from cryptography.hazmat.primitives import serialization


def sha(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def jcs(value):
    # Enough of RFC 8785 for manifests and statements: names and whole numbers, names in ASCII.
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def verify(path):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    assert db.execute("PRAGMA application_id").fetchone()[0] == 0x41435831
    meta = dict(db.execute("SELECT key, value FROM cartridge"))
    memory = dict(db.execute("SELECT id, payload FROM memory"))
    capabilities = dict(db.execute("SELECT id, json FROM capabilities"))
    files = {}
    for name, size, data in db.execute("SELECT name, sz, data FROM sqlar"):
        files[name] = data if len(data) == size else zlib.decompress(data, -15)

    def live(source):
        kind, _, key = source.partition(":")
        if kind == "memory":
            return memory[key].encode()
        if kind == "capability":
            return capabilities[key].encode()
        if kind == "cartridge":
            return jcs({"key": key, "value": meta[key]})
        return files[source]

    rows = db.execute("SELECT kind, source_ref, canon, sz, oid FROM objects WHERE zone = 'rom'").fetchall()
    rows.sort()  # Python compares text by code points
    for kind, source, canon, size, oid in rows:
        assert sha(live(source)) == oid, f"{source}: another content"
    manifest = sha(jcs([{"sourceRef": r[1], "oid": sha(live(r[1])), "canon": r[2], "sz": r[3]} for r in rows]))

    recorded, envelope, keyid, pem, alg = db.execute(
        "SELECT manifest_hash, envelope, keyid, public_key_pem, alg FROM signatures WHERE target = 'rom-manifest'"
    ).fetchone()
    key = serialization.load_pem_public_key(pem.encode())
    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    assert alg == "ed25519" and keyid == "ed25519:" + hashlib.sha256(der).hexdigest(), "another key"
    envelope = json.loads(envelope)
    payload = base64.b64decode(envelope["payload"], validate=True)
    kind = envelope["payloadType"].encode()
    (signature,) = envelope["signatures"]
    assert signature["keyid"] == keyid
    pae = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
    key.verify(base64.b64decode(signature["sig"], validate=True), pae)  # raises where it does not hold

    statement = json.loads(payload)
    (subject,) = statement["subject"]
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://acx.dev/attestation/cartridge/v1"
    assert subject["name"] == meta["acx.cartridge_id"]
    signed = "sha256:" + subject["digest"]["sha256"]
    predicate = statement["predicate"]
    assert manifest == signed == recorded == meta["acx.rom_manifest_hash"] == predicate["romDigest"] == predicate["manifestHash"]
    assert predicate["publisherId"] == meta["acx.publisher_id"] and predicate["fileCount"] == len(rows)
    return {"manifest": manifest, "keyid": keyid, "objects": len(rows)}


for name in sys.argv[1:]:
    try:
        print(json.dumps(verify(name)))
    except Exception as e:
        print(f"{name}: {type(e).__name__}: {e}", file=sys.stderr)
        sys.exit(1)
