#!/usr/bin/env python3
"""A third opinion on whole cartridges, from the format's rules alone and with the standard library only:
verify.py FILE... prints what is wrong with each file and exits 1 if anything is. Reads nothing of the crate or the
tests' builder, so that an error in those cannot hide here. For trusted inputs: no limits, no hardening."""
import base64
import hashlib
import json
import re
import sqlite3
import sys
import zlib

# Ed25519 (RFC 8032), verification only.
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P


def point(data):
    y = int.from_bytes(data, "little") & (1 << 255) - 1
    if len(data) != 32 or y >= P:
        return None
    x2 = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if x * x % P != x2:
        x = x * pow(2, (P - 1) // 4, P) % P
    if x * x % P != x2 or (x == 0 and data[31] >> 7):
        return None
    x = P - x if x & 1 != data[31] >> 7 else x
    return (x, y, 1, x * y % P)


def add(a, b):
    e, f = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    g, h = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = f - e, h - g, h + g, f + e
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def times(k, a):
    out = (0, 1, 1, 0)
    while k:
        out = add(out, a) if k & 1 else out
        a, k = add(a, a), k >> 1
    return out


def same(a, b):
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


BASE = point(bytes.fromhex("58" + "66" * 31))


def verifies(public, message, sig):
    a, r, s = point(public), point(sig[:32]), int.from_bytes(sig[32:], "little")
    if len(sig) != 64 or a is None or r is None or s >= L or same(times(8, a), (0, 1, 1, 0)):
        return False
    k = int.from_bytes(hashlib.sha512(sig[:32] + public + message).digest(), "little") % L
    return same(times(s, BASE), add(r, times(k, a)))


# JSON: no repeated name in, RFC 8785 out.
def unique(pairs):
    if len({k for k, _ in pairs}) != len(pairs):
        raise ValueError("a repeated name")
    return dict(pairs)


def parse(text):
    return json.loads(text, object_pairs_hook=unique)


def number(x):
    x = float(x)
    if x == 0:
        return "0"
    mantissa, _, exponent = repr(abs(x)).partition("e")
    whole, _, part = mantissa.partition(".")
    part = "" if part == "0" else part
    at = len(whole) + int(exponent or 0)
    digits = whole + part
    at -= len(digits) - len(digits.lstrip("0"))
    digits = digits.strip("0")
    n = len(digits)
    if n <= at <= 21:
        body = digits + "0" * (at - n)
    elif 0 < at <= 21:
        body = digits[:at] + "." + digits[at:]
    elif -6 < at <= 0:
        body = "0." + "0" * -at + digits
    else:
        body = digits[0] + ("." + digits[1:] if n > 1 else "") + "e%+d" % (at - 1)
    return "-" * (x < 0) + body


def jcs(v):
    if isinstance(v, dict):
        names = sorted(v, key=lambda k: k.encode("utf-16-be"))
        return "{" + ",".join(jcs(k) + ":" + jcs(v[k]) for k in names) + "}"
    if isinstance(v, list):
        return "[" + ",".join(map(jcs, v)) + "]"
    if isinstance(v, (int, float)) and not isinstance(v, bool):
        return number(v)
    return json.dumps(v, ensure_ascii=False)


def sha(data):
    return "sha256:" + hashlib.sha256(data if isinstance(data, bytes) else data.encode()).hexdigest()


def unbase64(text):
    text = text.replace("-", "+").replace("_", "/").rstrip("=")
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)


UNBOUND = {"vec0_format", "rom_manifest_hash", "package_spec", "lance_schema", "cal_skillset", "lance_present", "lance_path",
           "lance_rows", "save_codebase_fingerprint"}


def verify(path):
    wrong = []

    def hold(condition, what):
        if not condition:
            wrong.append(what)

    raw = open(path, "rb").read()
    size = int.from_bytes(raw[16:18], "big")
    size = 65536 if size == 1 else size
    hold(raw[68:72] == b"ACX1", "application_id")
    hold(raw[60] == 1, "major version")
    hold(len(raw) == size * int.from_bytes(raw[28:32], "big"), "length")
    db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    if b"USING vec0" not in raw:
        hold(db.execute("PRAGMA integrity_check").fetchall() == [("ok",)], "integrity_check")

    meta = dict(db.execute("SELECT key, value FROM cartridge"))
    files = {n: d if len(d) == sz else zlib.decompress(d, -15) for n, sz, d in db.execute("SELECT name, sz, data FROM sqlar")}
    for name, sz in db.execute("SELECT name, sz FROM sqlar"):
        hold(len(files[name]) == sz, f"size of {name}")
        hold(all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", s) for s in name.split("/")), f"name {name}")
    memory = {r[0]: r[1:] for r in db.execute("SELECT id, zone, artifact_fingerprint, codebase_fingerprint, payload, oid FROM memory")}
    capabilities = {r[0]: r[1:] for r in db.execute("SELECT id, json, content_hash FROM capabilities")}
    credentials = [parse(d) for d, in db.execute("SELECT document FROM attestations WHERE type = 'vc-2.0'")]

    def live(source):
        kind, _, rest = source.partition(":")
        if kind == "memory" and rest in memory:
            return memory[rest][3].encode(), len(memory[rest][3].encode())
        if kind == "capability" and rest in capabilities:
            return capabilities[rest][0].encode(), len(capabilities[rest][0].encode())
        if kind == "cartridge" and rest in meta:
            return jcs({"key": rest, "value": meta[rest]}).encode(), len(meta[rest].encode())
        return (files[source], len(files[source])) if source in files else (None, None)

    objects = db.execute("SELECT kind, source_ref, oid, canon, sz FROM objects WHERE zone = 'rom'").fetchall()
    for kind, source, oid, canon, sz in objects:
        data, length = live(source)
        hold(data is not None and sha(data) == oid, f"oid of {source}")
        hold(length == sz, f"size of the object {source}")
        hold(canon == ("raw" if kind == "sqlar" else "jcs-rfc8785"), f"canon of {source}")
    named = {o[1] for o in objects}
    needed = [n for n in files if n.startswith("rom/")] + [f"memory:{i}" for i, m in memory.items() if m[0] == "rom"]
    needed += [f"capability:{i}" for i in capabilities]
    needed += [f"cartridge:{k}" for k in meta if k.startswith("acx.") and k.removeprefix("acx.") not in UNBOUND]
    hold(not set(needed) - named, f"unnamed: {set(needed) - named}")

    def manifest(key):
        ordered = sorted(objects, key=lambda o: (key(o[0]), key(o[1])))
        return sha(jcs([{"sourceRef": s, "oid": o, "canon": c, "sz": z} for _, s, o, c, z in ordered]))

    hashes = [manifest(lambda s: s), manifest(lambda s: s.encode("utf-16-be"))]
    row = db.execute("SELECT manifest_hash, envelope, keyid, public_key_pem, alg FROM signatures WHERE target = 'rom-manifest'"
                     " ORDER BY created_at DESC").fetchone()
    recorded, envelope, keyid, pem, alg = row
    envelope = parse(envelope)
    der = base64.b64decode("".join(pem.split("\n")[1:-2]))
    hold(der[:12].hex() == "302a300506032b6570032100" and len(der) == 44, "key form")
    hold(keyid == "ed25519:" + hashlib.sha256(der).hexdigest() and alg == "ed25519", "keyid")
    hold(set(envelope) == {"payloadType", "payload", "signatures"}, "envelope members")
    payload, kind = unbase64(envelope["payload"]), envelope["payloadType"]
    pae = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
    mine = [s for s in envelope["signatures"] if s["keyid"] == keyid]
    hold(kind == "application/vnd.in-toto+json", "payload type")
    hold(any(verifies(der[12:], pae, unbase64(s["sig"])) for s in mine), "signature")
    statement = parse(payload)
    predicate = statement["predicate"]
    hold(jcs(statement).encode() == payload, "statement form")
    hold(statement["_type"] == "https://in-toto.io/Statement/v1", "statement type")
    hold(statement["predicateType"] == "https://acx.dev/attestation/cartridge/v1", "predicate type")
    hold(len(statement["subject"]) == 1 and statement["subject"][0]["name"] == meta["acx.cartridge_id"], "subject")
    digest = "sha256:" + statement["subject"][0]["digest"]["sha256"]
    hold(digest in hashes, "manifest")
    for name, value in [("row", recorded), ("metadata", meta["acx.rom_manifest_hash"]), ("romDigest", predicate["romDigest"]),
                        ("manifestHash", predicate["manifestHash"])]:
        hold(value == digest, f"manifest hash in {name}")
    hold(predicate["publisherId"] == meta["acx.publisher_id"], "publisher")
    hold(predicate["fileCount"] in (None, len(objects)), "fileCount")
    lines = "\n".join(sorted(f"{o[2]}  {o[1]}" for o in objects))
    hold(predicate["checksumHash"] in (None, sha(lines)), "checksumHash")
    engine = parse(meta["acx.embedding_engine"])
    hold(predicate["embeddingEngine"] == engine, "engine in the predicate")

    for ident, (zone, fingerprint, codebase, payload, oid) in memory.items():
        record = parse(payload)
        hold(jcs(record) == payload and oid == sha(payload), f"memory {ident}: form or oid")
        columns = [record[k] for k in ("id", "zone", "artifactFingerprint", "codebaseFingerprint")]
        hold(columns == [ident, zone, fingerprint, codebase], f"memory {ident}: row")
        identity = {k: record[k].strip().lower() for k in ("title", "summary", "sourceType", "projectLabel")}
        identity |= {k: record[k] for k in ("timestamp", "impact", "xpAwarded")}
        identity |= {"repoId": record.get("repoId"), "tags": sorted(t.lower() for t in record["tags"])}
        hold(hashlib.sha1(jcs(identity).encode()).hexdigest()[:10] == fingerprint, f"memory {ident}: fingerprint")
    for ident, (text, content_hash) in capabilities.items():
        record = parse(text)
        key = "|".join([record["taskType"], ",".join(sorted(record["stack"])), record["domain"]])
        hold(record["id"] == ident == "cap-" + hashlib.sha256(key.encode()).hexdigest()[:16], f"capability {ident}: id")
        hold(content_hash == sha(jcs(record)), f"capability {ident}: hash")
    skills = [n for n in files if re.fullmatch(r"rom/skills/[^/]+/SKILL\.md", n)]
    cached = dict(db.execute("SELECT sqlar_path, content_sha256 FROM acx_skill"))
    hold(cached.items() <= {n: hashlib.sha256(files[n]).hexdigest() for n in skills}.items(), "acx_skill")

    spec = parse(files["rom/package-spec.json"])
    roles = {a["role"]: a for a in spec["artifacts"]}
    hold(len(roles) == len(spec["artifacts"]) == 8, "roles")
    hold([spec["cartridgeId"], spec["specVersion"], spec["embeddingEngine"]] ==
         [meta["acx.cartridge_id"], meta["acx.spec_version"], engine], "package spec and metadata")
    counts = [roles[r]["count"] for r in ("memory-baseline", "skills", "capabilities", "level")]
    live_counts = [len(memory), len(skills), len(capabilities), len(credentials)]
    # Signers in the wild declare no credential and carry one.
    hold(counts[:3] == live_counts[:3] and counts[3] in (0, live_counts[3]), f"counts {counts}, live {live_counts}")
    lance = parse(files["rom/schema/lance-memory.json"])
    hold(lance["embeddingEngine"] == engine and len(lance["columns"]) == 14, "lance descriptor")
    return wrong


bad = False
for name in sys.argv[1:]:
    try:
        wrong = verify(name)
    except Exception as e:  # a file that cannot be read is as wrong as can be
        wrong = [f"{type(e).__name__}: {e}"]
    bad |= bool(wrong)
    if wrong:
        print(f"{name}: {'; '.join(wrong)}")
print(f"{len(sys.argv) - 1} files")
sys.exit(bad or len(sys.argv) < 2)
