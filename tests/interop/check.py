"""Opens the datasets that tests/lance_interop.rs wrote, with pylance and lancedb, and compares them with what was written.

usage: check.py FOLDER

FOLDER holds one folder a case: `data.lance`, `expected.json` (schema, metadata, every value but the vectors), and
`<column>.f32` (the vectors, little-endian); and `embedding/` with `texts.json` and `vectors.f32`.
"""

import hashlib
import json
import math
import re
import shutil
import sys
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa

try:
    import lancedb
except ImportError:  # an old pylance is tried without it
    lancedb = None

MEMORY = pa.schema(
    [
        pa.field("id", pa.string(), False),
        pa.field("zone", pa.string(), False),
        pa.field("portable", pa.bool_(), False),
        pa.field("artifact_fingerprint", pa.string(), False),
        pa.field("codebase_fingerprint", pa.string(), True),
        pa.field("title", pa.string(), False),
        pa.field("summary", pa.string(), False),
        pa.field("source_type", pa.string(), False),
        pa.field("tags", pa.list_(pa.string()), False),
        pa.field("impact", pa.string(), False),
        pa.field("xp_awarded", pa.int32(), False),
        pa.field("timestamp", pa.string(), False),
        pa.field("text", pa.string(), False),
        pa.field("vector", pa.list_(pa.float32(), 128), False),
    ],
    metadata={
        "acx.schema_version": "acx.lance-memory/1",
        "acx.embedding_engine": "local-hash-128",
        "acx.distance_metric": "cosine",
        "acx.partition_by": "zone",
    },
)

seen = set()  # what was really compared, printed at the end


def did(what):
    seen.add(what)


def arrow_type(spec):
    kind = spec["type"]
    if kind == "list":
        return pa.list_(pa.field(spec["item"], pa.string(), spec["item_nullable"]))
    if kind == "vector":
        return pa.list_(pa.field("item", pa.float32(), True), spec["dim"])
    return {"utf8": pa.string(), "bool": pa.bool_(), "int32": pa.int32(), "float32": pa.float32()}[kind]


def embed(text):
    sums = [0] * 128
    for token in re.findall("[a-z0-9]+", text.lower()):
        digest = hashlib.sha1(token.encode()).digest()
        sums[int.from_bytes(digest[:4], "big") % 128] += 1 if digest[4] & 1 else -1
    norm = math.sqrt(sum(n * n for n in sums))
    return [n / norm if norm else 0.0 for n in sums]


def bits(array):
    return np.ascontiguousarray(array, dtype="<f4").view("<u4")


def same_values(name, column, expected, vectors, dim):
    """Every value of a column as read equals what was written; floats to the bit."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if vectors is not None:
        found = column.flatten().to_numpy(zero_copy_only=False).reshape(-1, dim)
        assert np.array_equal(bits(found), bits(vectors)), name
    elif pa.types.is_float32(column.type):
        assert np.array_equal(bits(column.to_numpy(zero_copy_only=False)), np.array(expected, dtype="<u4")), name
    else:
        assert column.to_pylist() == expected, name


def distances(vectors, query):
    """Cosine distances in double precision; NaN for a vector without direction."""
    v = vectors.astype(np.float64)
    q = query.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return 1 - (v @ q) / (np.linalg.norm(v, axis=1) * np.linalg.norm(q))


def same_neighbours(table, key, truth, k, where):
    """The k nearest: their distances are the smallest there are, and each is the distance of its own row."""
    finite = np.sort(truth[~np.isnan(truth)])
    found = table["_distance"].to_numpy()
    rows = table[key].to_numpy()
    keep = ~np.isnan(found)
    found, rows = found[keep], rows[keep]
    assert len(found) == min(k, len(finite)), (where, len(found), len(finite))
    assert len(set(rows.tolist())) == len(rows), where
    assert np.allclose(found, finite[: len(found)], atol=2e-6), (where, found, finite[: len(found)])
    assert np.allclose(found, truth[rows], atol=2e-6), where


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def filters(spec, expected):
    """(SQL, number of rows) for a column."""
    name, kind = spec["name"], spec["type"]
    if kind == "utf8":
        some = [v for v in expected if v is not None and "\0" not in v]
        for value in some[:1] + some[-1:] + [""]:
            yield f"{name} = {quoted(value)}", sum(v == value for v in expected)
        yield f"{name} IS NULL", sum(v is None for v in expected)
        yield f"{name} IS NOT NULL", sum(v is not None for v in expected)
    elif kind == "bool":
        yield f"{name} = true", sum(expected)
        yield f"NOT {name}", len(expected) - sum(expected)
    elif kind == "int32":
        for value in expected[:1] + [0]:
            yield f"{name} >= {value}", sum(v >= value for v in expected)
    elif kind == "float32":
        values = np.array(expected, dtype="<u4").view("<f4")
        yield f"{name} > 0.25", int((values > 0.25).sum())
    elif kind == "list":
        tags = [t for tags in expected for t in tags if t is not None and "\0" not in t]
        for tag in tags[:1] + tags[-1:]:
            yield f"array_has({name}, {quoted(tag)})", sum(tag in v for v in expected)
    else:
        yield f"{name} IS NOT NULL", len(expected)


def check(case):
    expected = json.loads((case / "expected.json").read_text(encoding="utf-8"))
    specs, rows, columns = expected["fields"], expected["rows"], expected["columns"]
    schema = pa.schema(
        [pa.field(s["name"], arrow_type(s), s["nullable"]) for s in specs],
        metadata=expected["metadata"] or None,
    )
    vectors = {
        s["name"]: np.fromfile(case / f"{s['name']}.f32", dtype="<f4").reshape(-1, s["dim"])
        for s in specs
        if s["type"] == "vector"
    }
    path = case / "data.lance"
    before = sorted(p.relative_to(path).as_posix() for p in path.rglob("*"))
    data = lance.dataset(str(path))

    assert data.version == 1 and data.count_rows() == rows
    assert data.schema.equals(schema, check_metadata=True), f"{data.schema}\n--- expected\n{schema}"
    if expected["memory"]:
        assert data.schema.equals(MEMORY, check_metadata=True), data.schema
        did("memory schema")
    did("schema")
    table = data.to_table()
    for s in specs:
        v = vectors.get(s["name"])
        same_values(s["name"], table[s["name"]], columns.get(s["name"]), v, s.get("dim"))
        did(f"values {s['type']}")
    if rows:
        picked = sorted({0, rows // 2, rows - 1})
        part = data.take(picked, columns=[s["name"] for s in specs])
        for s in specs:
            v = vectors.get(s["name"])
            values = None if v is not None else [columns[s["name"]][i] for i in picked]
            same_values(s["name"], part[s["name"]], values, None if v is None else v[picked], s.get("dim"))
        did("take")

    for s in specs:
        for sql, count in filters(s, columns.get(s["name"], [None] * rows)):
            found = data.count_rows(filter=sql)
            assert found == count, (sql, found, count)
            did(f"filter {s['type']}")

    for name, v in vectors.items():
        if not rows:
            continue
        for query in (v[rows // 2], np.linspace(-1, 1, v.shape[1] + 1, dtype=np.float32)[1:]):
            if not query.any():
                continue
            truth = distances(v, query)
            near = data.to_table(
                columns=[], nearest={"column": name, "q": query, "k": 10, "metric": "cosine"}, with_row_id=True
            )
            same_neighbours(near, "_rowid", truth, 10, (case.name, name, "pylance"))
            did("nearest")
            if lancedb is None:
                continue
            search = lancedb.connect(str(case)).open_table("data").search(query, vector_column_name=name)
            near = search.metric("cosine").limit(10).with_row_id(True).to_arrow()
            same_neighbours(near, "_rowid", truth, 10, (case.name, name, "lancedb"))
            did("lancedb search")

    # Reading must not have left anything behind, or the next build would find a difference.
    assert before == sorted(p.relative_to(path).as_posix() for p in path.rglob("*"))

    copy = case / "appended.lance"
    shutil.copytree(path, copy)
    more = table if rows else sample(schema)
    appended = lance.write_dataset(pa.table(more.columns, schema=schema), str(copy), mode="append")
    assert appended.version == 2 and appended.count_rows() == rows + len(more)
    assert appended.schema.equals(schema, check_metadata=True)
    whole = lance.dataset(str(copy)).to_table()
    for s in specs:
        v = vectors.get(s["name"])
        if rows and v is not None:
            same_values(s["name"], whole[s["name"]], None, np.concatenate([v, v]), s["dim"])
        elif rows:
            same_values(s["name"], whole[s["name"]], columns[s["name"]] * 2, None, None)
        else:
            assert whole[s["name"]].to_pylist() == more[s["name"]].to_pylist()
    did("append" if rows else "append to none")
    shutil.rmtree(copy)


def sample(schema):
    """Two rows of any schema, to append where there are none to append again."""

    def value(kind):
        if pa.types.is_fixed_size_list(kind):
            return [0.5] * kind.list_size
        if pa.types.is_list(kind):
            return ["é", ""]
        return "x" if pa.types.is_string(kind) else True if pa.types.is_boolean(kind) else 1

    return pa.table([pa.array([value(f.type)] * 2, f.type) for f in schema], schema=schema)


def main():
    folder = Path(sys.argv[1])
    texts = json.loads((folder / "embedding" / "texts.json").read_text(encoding="utf-8"))
    found = np.fromfile(folder / "embedding" / "vectors.f32", dtype="<f4").reshape(-1, 128)
    assert len(texts) == len(found) >= 1000
    for text, vector in zip(texts, found):
        assert np.array_equal(bits(vector), bits(np.array(embed(text), dtype=np.float32))), repr(text)
    did(f"embedding of {len(texts)} texts")

    cases = sorted(p for p in folder.iterdir() if (p / "expected.json").exists())
    for case in cases:
        try:
            check(case)
        except BaseException:
            print(f"in case {case.name}:", file=sys.stderr)
            raise
    versions = f"pylance {lance.__version__}, lancedb {lancedb and lancedb.__version__}, pyarrow {pa.__version__}"
    print(f"{len(cases)} datasets read by {versions}: " + "; ".join(sorted(seen)))


if __name__ == "__main__":
    main()
