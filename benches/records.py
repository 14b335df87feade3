#!/usr/bin/env python3
"""Measures containers of records beside the libraries that wrote them, in one run, turn by turn.

    records.py [--gander target/release/gander] [--data benches/data] [--only tfrecord,lmdb,tar,msgpack,folder]
            [--repeat 5] [--out benches/README.md]

Needs a Python with crc32c, lmdb, msgpack, pillow and tfrecord, GNU tar, and the bench `one` (`cargo bench --bench one
--no-run`). The data are made in the data folder where they are not there (`records.py --make DIR` only makes them):
2 M TFRecords, an LMDB store of 10 M keys, a tar of 1 M members, 1 GB of MessagePack, a folder of 50,000 small files in ten
classes. measure.py says how things are measured.
"""

import io
import os
import struct
import sys
import tarfile
from pathlib import Path

from measure import Case, main, make, peer, program

RECORDS, KEYS, SAMPLES, FILES = 2_000_000, 10_000_000, 333_334, 50_000


def masked(data):
    import crc32c

    crc = crc32c.crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def tfrecords(path):
    """Examples of a label, a key and some bytes."""
    with open(path, "wb") as out:
        for n in range(RECORDS):
            label = field(3, field(1, varint(n % 1000)))
            key = field(1, field(1, b"%08d" % n))
            noise = field(1, field(1, n.to_bytes(8, "little") * 6))
            features = b"".join(field(1, field(1, name) + field(2, value)) for name, value in ((b"key", key), (b"label", label), (b"noise", noise)))
            record = field(1, features)
            head = struct.pack("<Q", len(record))
            out.write(head + masked(head) + record + masked(record))


def store(path):
    import lmdb

    with lmdb.open(str(path), subdir=False, map_size=4 << 30, sync=False, metasync=False) as env, env.begin(write=True) as write:
        cursor = write.cursor()
        cursor.putmulti(((b"%010d" % n, n.to_bytes(32, "little")) for n in range(KEYS)), append=True)
    path.with_name(f"{path.name}-lock").unlink()


def samples(path):
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as out:
        for n in range(SAMPLES):
            for end, data in (("jpg", b"\xff\xd8\xff" + n.to_bytes(200, "little")), ("cls", b"%d" % (n % 10)), ("txt", b"sample %d" % n)):
                info = tarfile.TarInfo(f"{n:07}.{end}")
                info.size = len(data)
                out.addfile(info, io.BytesIO(data))


def messages(path):
    import msgpack

    pack = msgpack.Packer().pack
    with open(path, "wb") as out:
        n, size = 0, 0
        while size < 1 << 30:
            size += out.write(b"".join(pack({"id": n + k, "name": f"goose {k}", "weight": k * 0.25, "tags": ["a", "b"], "data": b"x" * 60}) for k in range(1000)))
            n += 1000


def pictures(folder):
    """JPEG files of about 4 kB: what is in them does not matter here, only that each is another."""
    from PIL import Image

    one = io.BytesIO()
    Image.effect_noise((96, 96), 60).convert("RGB").save(one, "JPEG", quality=60)
    for n in range(FILES):
        place = folder / f"class_{n % 10}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{n:06}.jpg").write_bytes(one.getvalue() + n.to_bytes(4, "little"))


MADE = {
    "records_2m.tfrecord": tfrecords,
    "keys_10m.lmdb": store,
    "members_1m.tar": samples,
    "objects_1gb.msgpack": messages,
    "pictures_50k": pictures,
}


def one(group, what, *arguments, **options):
    return Case(group, what, "gander", [program("one"), *arguments], **options)


def tfrecord_cases(gander, data):
    path, group = data / "records_2m.tfrecord", "2 M TFRecords"
    size = path.stat().st_size
    loader = f"from tfrecord.reader import tfrecord_iterator\npath = {str(path)!r}"
    return [
        one(group, "opened, first 100 rows", "page", path, "", "0"),
        one(group, "all records found", "count", path, "", work=size),
        peer(group, "all records found", "tfrecord", loader, "n = sum(1 for _ in tfrecord_iterator(path))", work=size),
    ]


def lmdb_cases(gander, data):
    path, group = data / "keys_10m.lmdb", "LMDB store of 10 M keys"
    setup = "import lmdb"
    last = f"""env = lmdb.open({str(path)!r}, subdir=False, readonly=True, lock=False)
with env.begin() as read:
    cursor = read.cursor()
    cursor.last()
    rows = [cursor.item() for _ in range(100) if cursor.prev()]"""
    return [
        one(group, "opened, first 100 entries", "page", path, "", "0"),
        one(group, "opened, last 100 entries", "last", path, ""),
        peer(group, "opened, last 100 entries", "py-lmdb", setup, last),
    ]


def tar_cases(gander, data):
    path, group = data / "members_1m.tar", "tar of 1 M members"
    size = path.stat().st_size
    listed = f"with tarfile.open({str(path)!r}) as tar:\n    n = len(tar.getmembers())"
    return [
        one(group, "opened, first 100 samples", "page", path, "", "0"),
        one(group, "all samples found", "count", path, "", work=size),
        peer(group, "all members found", "tarfile", "import tarfile", listed, work=size),
    ]


def msgpack_cases(gander, data):
    path, group = data / "objects_1gb.msgpack", "1 GB of MessagePack"
    size = path.stat().st_size
    walk = f"with open({str(path)!r}, 'rb') as file:\n    n = sum(1 for _ in msgpack.Unpacker(file, max_buffer_size=1 << 30))"
    return [
        one(group, "opened, first 100 rows", "page", path, "", "0"),
        one(group, "all objects found", "count", path, "", work=size),
        peer(group, "all objects read", "msgpack", "import msgpack", walk, work=size),
    ]


def folder_cases(gander, data):
    path, group = data / "pictures_50k", "folder of 50,000 pictures"
    out = Path(os.environ.get("TMPDIR", "/tmp"))
    return [
        Case(group, "as WebDataset", "gander", [gander, "convert", path, out / "gander.tar", "--to", "webdataset", "--overwrite"]),
        Case(group, "as tar", "GNU tar", ["tar", "-cf", out / "tar.tar", "-C", path, "."]),
    ]


GROUPS = {
    "tfrecord": (tfrecord_cases, "records_2m.tfrecord"),
    "lmdb": (lmdb_cases, "keys_10m.lmdb"),
    "tar": (tar_cases, "members_1m.tar"),
    "msgpack": (msgpack_cases, "objects_1gb.msgpack"),
    "folder": (folder_cases, "pictures_50k"),
}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--make"]:
        del sys.argv[1]
        make(MADE, __doc__)
    else:
        main(GROUPS, __doc__, "records")
