#!/usr/bin/env python3
"""Writes the corpus of the feed's fuzzer: one small file for each kind of wrapping and damage.

Usage: make_corpus_feed.py DIRECTORY   (default: corpus/fuzz_feed beside this script)

The same bytes every time, made with the standard library alone: zstd frames by hand.
"""

import os
import struct
import sys
import zlib

TEXT = (b'{"schemaVersion":1,"traceEvents":[\n'
        b'{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":10.5,"dur":3,'
        b'"args":{"correlation":1}},\n'
        b'{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":14.5,"dur":3,'
        b'"args":{"correlation":2}}\n]}\n')


def deflated(data, level=6):
    """Raw deflate data."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def gzip(data, flags=0, fields=b"", level=6):
    """One gzip member; `fields` are the optional parts that `flags` announces."""
    head = b"\x1f\x8b\x08" + bytes([flags]) + b"\0\0\0\0\0\x03" + fields
    if flags & 2:
        head += struct.pack("<H", zlib.crc32(head) & 0xFFFF)
    return head + deflated(data, level) + struct.pack("<II", zlib.crc32(data), len(data))


def gzip_wrong_distance(data):
    """A member whose text ends in a match with a distance that is none (RFC 1951, 3.2.6)."""
    bits = "110" + "".join(f"{0x30 + byte:08b}" for byte in data) + f"{0xC0 + 285 - 280:08b}{30:05b}"
    bits += "0" * (-len(bits) % 8 + 8 * 400)
    return b"\x1f\x8b\x08\0\0\0\0\0\0\x03" + bytes(
        int(bits[i:i + 8][::-1], 2) for i in range(0, len(bits), 8))


def zstd(data, checksum=None, window=0):
    """One zstd frame: a raw block, a block of one repeated byte, an empty last one."""
    frame = b"\x28\xb5\x2f\xfd" + bytes([4 if checksum else 0]) + bytes([window << 3])
    frame += struct.pack("<I", len(data) << 3)[:3] + data
    frame += struct.pack("<I", 3 << 3 | 1 << 1)[:3] + b" "
    frame += struct.pack("<I", 1)[:3]
    return frame + (checksum or b"")


def skippable(data):
    """A zstd frame that holds no data."""
    return b"\x53\x2a\x4d\x18" + struct.pack("<I", len(data)) + data


def swapped(data, at):
    """With one bit of one byte turned over."""
    return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1:]


def seeds():
    """Name and bytes of each file."""
    fields = struct.pack("<H", 5) + b"extra" + b"trace.json\0" + b"a comment\0"
    whole = gzip(TEXT)
    wide = TEXT.decode().replace("gemm", "g\U0001f600mm\u00e9")
    return {
        "plain": TEXT,
        "plain_mark": b"\xef\xbb\xbf" + TEXT,
        "utf16_le_mark": b"\xff\xfe" + wide.encode("utf-16-le"),
        "utf16_be_mark": b"\xfe\xff" + wide.encode("utf-16-be"),
        "utf16_le": wide.encode("utf-16-le"),
        "utf16_be": wide.encode("utf-16-be"),
        "utf16_lone": b"\xfe\xff" + b"\0{\xd8\x3d\xd8\x3d\xde\0\xde\0\0x\xd8",
        "gzip": whole,
        "gzip_stored": gzip(TEXT, level=0),
        "gzip_fields": gzip(TEXT, 0x1E, fields),
        "gzip_empty": gzip(b""),
        "gzip_members": gzip(TEXT[:9]) + gzip(b"") + gzip(TEXT[9:], 0x0A, b"x\0"),
        "gzip_bytes": b"".join(gzip(TEXT[i:i + 1]) for i in range(40)),
        "gzip_garbage": whole + b"garbage",
        "gzip_padded": whole + bytes(64),
        "gzip_padded_member": whole + bytes(64) + whole,
        "gzip_cut_header": gzip(TEXT, 0x1E, fields)[:20],
        "gzip_cut_data": whole[:len(whole) // 2],
        "gzip_cut_trailer": whole[:-3],
        "gzip_wrong_crc": swapped(whole, len(whole) - 8) + whole,
        "gzip_wrong_length": swapped(whole, len(whole) - 1) + whole,
        "gzip_damaged": swapped(whole, len(whole) // 2),
        "gzip_wrong_distance": gzip_wrong_distance(TEXT),
        "gzip_many": gzip(TEXT * 400),
        "gzip_twice": gzip(whole),
        "gzip_thrice": gzip(gzip(whole)),
        "gzip_four_times": gzip(gzip(gzip(whole))),
        "gzip_utf16": gzip(b"\xff\xfe" + wide.encode("utf-16-le")),
        "gzip_mark": gzip(b"\xef\xbb\xbf" + TEXT),
        "gzip_zip": gzip(b"PK\3\4" + bytes(60)),
        "zlib": zlib.compress(TEXT),
        "zlib_wrong_sum": swapped(zlib.compress(TEXT), -2 % len(zlib.compress(TEXT))),
        "zlib_garbage": zlib.compress(TEXT, 9) + b"garbage",
        "zstd": zstd(TEXT),
        "zstd_wrong_sum": zstd(TEXT, b"\1\2\3\4") + zstd(TEXT),
        "zstd_frames": skippable(b"skip me") + zstd(TEXT[:9]) + skippable(b"") + zstd(TEXT[9:]),
        "zstd_cut": zstd(TEXT)[:60],
        "zstd_garbage": zstd(TEXT) + b"garbage",
        "zstd_padded": zstd(TEXT) + bytes(12),
        "zstd_window_27": zstd(TEXT, window=17),
        "zstd_window_31": zstd(TEXT, window=21),
        "zstd_window_40": zstd(TEXT, window=30),
        "zstd_in_gzip": gzip(zstd(TEXT)),
        "gzip_in_zstd": zstd(whole),
        "sqlite": b"SQLite format 3\0" + bytes(84),
        "tar": bytes(257) + b"ustar\00000" + bytes(247),
        "protobuf": b"\x0a\x7b\x42\x0b\x08\x06\x10\x01",
        "html": b"<!DOCTYPE html><title>404</title>\n",
    }


def main():
    """Writes the files."""
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "fuzz_feed")
    directory = sys.argv[1] if len(sys.argv) > 1 else beside
    os.makedirs(directory, exist_ok=True)
    for name, data in seeds().items():
        with open(os.path.join(directory, name), "wb") as out:
            out.write(data)


if __name__ == "__main__":
    main()
