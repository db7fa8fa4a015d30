"""Writes the files of this folder with pyarrow: a table as text, TABLE.csv, and in several forms of Parquet,
TABLE.FORM.parquet, which data/test-parquet.c reads. With a folder as argument it writes 80 forms of twelve tables
there, which the test reads with GRADLOOM_PARQUET_FOLDER=FOLDER."""
import datetime
import decimal
import itertools
import os
import random
import sys

import pyarrow as pa
import pyarrow.parquet as pq

WORDS = ["Ulm", 'say "a, b"', "ä ö", "", "x\ny", "Bonn"]
SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def make(n, gaps, seed=0):
    """A table of n rows with every type; gaps is the probability of a null."""
    r = random.Random(seed)
    some = lambda make_one: [None if r.random() < gaps else make_one(i) for i in range(n)]
    whole = lambda bits, low=0: some(lambda i: r.randrange(low, low + 2**bits))
    day = datetime.date(1900, 1, 1)
    columns = {
        "i8": pa.array(whole(8, -128), pa.int8()),
        "u8": pa.array(whole(8), pa.uint8()),
        "i32": pa.array(whole(32, -(2**31)), pa.int32()),
        "u32": pa.array(whole(32), pa.uint32()),
        "i64": pa.array(whole(64, -(2**63)), pa.int64()),
        "u64": pa.array(whole(64), pa.uint64()),
        "few": pa.array(some(lambda i: r.randrange(5)), pa.int64()),
        "same": pa.array(some(lambda i: 7), pa.int32()),
        "f16": pa.array(some(lambda i: r.randrange(-9, 9) / 4), pa.float16()),
        "f32": pa.array(some(lambda i: r.gauss(0, 1)), pa.float32()),
        "f64": pa.array(some(lambda i: r.gauss(0, 1e9)), pa.float64()),
        "yes": pa.array(some(lambda i: r.random() < 0.5), pa.bool_()),
        "word": pa.array(some(lambda i: r.choice(WORDS)), pa.string()),
        "name": pa.array(some(lambda i: f"k{i}"), pa.large_string()),
        "category": pa.array(some(lambda i: r.choice(WORDS)), pa.string()).dictionary_encode(),
        "bytes": pa.array(some(lambda i: b"ab"), pa.binary(2)),
        "day": pa.array(some(lambda i: day + datetime.timedelta(days=r.randrange(60000))), pa.date32()),
        "ms": pa.array(some(lambda i: r.randrange(-(10**12), 10**12)), pa.timestamp("ms")),
        "us": pa.array(some(lambda i: r.randrange(-(10**15), 10**15)), pa.timestamp("us")),
        "ns": pa.array(some(lambda i: r.randrange(-(10**18), 10**18)), pa.timestamp("ns", "UTC")),
        "time": pa.array(some(lambda i: r.randrange(86400000)), pa.time32("ms")),
        "price": pa.array(some(lambda i: decimal.Decimal(r.randrange(-(10**6), 10**6)) / 100), pa.decimal128(9, 2)),
        "in": pa.array(some(lambda i: {"a": i, "b": None if i % 3 == 0 else "q"}), pa.struct([("a", pa.int64()), ("b", pa.string())])),
        "list": pa.array([[1, 2]] * n, pa.list_(pa.int64())),
        "row": pa.array(range(n), pa.int64()),
    }
    fields = [pa.field(name, column.type, nullable=name != "row") for name, column in columns.items()]
    return pa.table(list(columns.values()), schema=pa.schema(fields))


def stamp(value, unit):
    seconds, rest = divmod(value, SECOND[unit])
    text = (datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)).isoformat()
    return text + ("." + str(rest).zfill(len(str(SECOND[unit])) - 1).rstrip("0") if rest else "")


def field(value, kind):
    """A field of the text."""
    if value is None:
        return ""
    if pa.types.is_timestamp(kind):
        return stamp(value, kind.unit)
    if pa.types.is_time(kind):
        return f"{value / SECOND[kind.unit]:.17g}"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (bytes, str)):
        text = value if isinstance(value, str) else value.decode()
        return '"' + text.replace('"', '""') + '"'
    if isinstance(value, (datetime.date, int)):
        return str(value)
    return f"{value:.9g}" if kind in (pa.float16(), pa.float32()) else f"{float(value):.17g}"


def columns_of(table):
    """The columns of the text: names and fields."""
    for name in table.schema.names:
        column = table[name].combine_chunks()
        column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_list(column.type):
            yield name + ".list.element", ["a list"] * len(column)
        elif pa.types.is_struct(column.type):
            rows = column.to_pylist()
            for part in column.type:
                yield f"{name}.{part.name}", [field(row and row[part.name], part.type) for row in rows]
        else:
            raw = column
            if pa.types.is_timestamp(column.type) or pa.types.is_time(column.type):
                raw = column.cast(pa.int32() if column.type == pa.time32("ms") else pa.int64())
            yield name, [field(value, column.type) for value in raw.to_pylist()]


def write(folder, name, table, forms):
    columns = list(columns_of(table))
    lines = [",".join(f'"{title}"' for title, _ in columns), *map(",".join, zip(*(fields for _, fields in columns)))]
    with open(os.path.join(folder, name + ".csv"), "w", encoding="utf-8", newline="") as file:
        file.write("sep=,\r" + "\n".join(lines) + "\n")
    for form, options in forms.items():
        pq.write_table(table, os.path.join(folder, f"{name}.{form}.parquet"), store_schema=False, **options)


def every_form(n):
    more = {
        "all": {},
        "small": {"data_page_size": 200},
        "groups": {"row_group_size": max(1, n // 3)},
        "int96": {"use_deprecated_int96_timestamps": True},
        "bare": {"write_statistics": False},
    }
    for codec, version, dictionary, name in itertools.product(("none", "snappy", "zstd", "gzip"), ("1.0", "2.0"), (True, False), more):
        yield f"{codec}-{version[0]}-{dictionary}-{name}", {
            "compression": codec,
            "data_page_version": version,
            "use_dictionary": dictionary,
            **more[name],
        }


def main():
    if len(sys.argv) > 1:
        for n, gaps in itertools.product((1, 7, 300, 5000), (0, 0.3, 1)):
            write(sys.argv[1], f"t{n}-{int(gaps * 10)}", make(n, gaps), dict(every_form(n)))
        return
    forms = {
        "snappy": {"compression": "snappy"},
        "zstd-2": {"compression": "zstd", "data_page_version": "2.0", "row_group_size": 9},
        "plain": {"compression": "none", "use_dictionary": False, "use_deprecated_int96_timestamps": True},
        "gzip-2": {"compression": "gzip", "use_dictionary": False, "data_page_version": "2.0"},
    }
    for options in forms.values():
        options["write_statistics"] = False
    write(os.path.dirname(os.path.abspath(__file__)), "types", make(20, 0.3, 1), forms)


main()
