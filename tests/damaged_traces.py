"""Valid trace files of every format, drawn at random, and ways to damage a file."""

import bz2
import gzip
import lzma
import struct
from datetime import datetime, timedelta
from random import Random

PACKERS = {"gzip": gzip, "bzip2": bz2, "xz": lzma}
KINDS = (
    "spc", "msr", "alibaba", "tencent", "systor17", "fiu", "table", "disksim", "disksim-validate", "fio", "fio-iolog",
    "blkparse", "blkparse-issue", "blkparse-remap", "biosnoop", "ftrace", "vscsi", "libcachesim", "srt13", "srt17",
)  # fmt: skip
HUGE = (
    *(b"%d" % (2**bits + more) for bits in (31, 32, 40, 53, 62, 63, 64) for more in (-1, 0, 1)),
    b"-9223372036854775809", b"-1", b"-512", b"-0", b"0", b"8", b"512", b"+7", b"1e308", b"1e309", b"1e-320", b"1e15",
    b"1.0000000000001e15", b"nan", b"inf", b"-inf", b"1e", b"1.", b".5", b".", b"1_000", b"0x10", b"ffffffff", b"0xfffffffff",
    b"1,5", b"", b"9" * 400, b"0" * 400 + b"1", b"9" * 5000, b"1." + b"3" * 5000, b"0" * 30 + b"42", "\u0663".encode(),
)  # fmt: skip
CONTROL = (b"\0", b"\x07", b"\x1b[31m", b"\x1b]0;title\x07", b"\x7f", b"\x85", b"\xa0", b"\x0b", b"\x0c", b"\x1c", b"\r",
           b"\r\n", b"\t", "\u2028".encode(), b"<script>", b"#", b'"', b"'", b"\\n")  # fmt: skip
MAGIC = (b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"7z\xbc\xaf\x27\x1c", b"$$TR_IOREC-1.3",
         b"$$TR_IOREC-1.7", b"$$TR_IOREC-9.9", b"Timestamp,", b"\xef\xbb\xbf", b"\xff\xfe")  # fmt: skip


def rows(rng: Random):
    """Columns of each request (time us, device, block, blocks, read, response us), in order of time."""
    clock, made = rng.choice([0, rng.randrange(10**9)]), []
    for _ in range(rng.choice([1, 2, 5, 12, 30])):
        clock += rng.choice([0, 1, 500, 70_000, 3_000_000])
        made.append((clock, rng.randrange(4), rng.choice([0, 8, 16, 24, rng.randrange(2**29)]), rng.choice([1, 8, 2**12]),
                     rng.random() < 0.6, rng.randrange(200_000)))  # fmt: skip
    return made


def valid(kind: str, rng: Random) -> bytes:
    """A file of this format without any fault."""
    some = rows(rng)
    if kind == "srt13":
        return b"$$TR_IOREC-1.3 (test)\0\nsectorsize  = 256,\n\f" + b"".join(srt13(*row) for row in some)
    if kind == "srt17":
        return b"$$TR_IOREC-1.7 : test\0\n\f" + b"".join(srt17(*row) for row in some)
    lines = EVENTS[kind](some, rng) if kind in EVENTS else [LINES[kind](*row) for row in some]
    if kind == "fio":
        columns = rng.choice([5, 6, 7])
        lines = [", ".join(line.split(", ")[:columns]) for line in lines]
    if kind == "table":
        stamp = rng.choice(STAMPS)
        lines = [f"{stamp(row[0])},{line}" for row, line in zip(some, lines, strict=True)]
    if kind == "fio-iolog":
        lines = ["fio version 3 iolog", "0 /dev/sda add", *lines, "99999999999 /dev/sda close"]
    if kind in HEADERS and rng.random() < 0.3:
        lines = [HEADERS[kind], *lines]
    end = rng.choice(["\n", "\n", "\n", "\r\n"])
    return "".join(line + end for line in lines).encode()


def srt13(t, d, b, n, r, w):
    words = 56, 0x40001, t // 10**6, t % 10**6, w // 2, w, n * 512, b * 2, 0x08000000 | d << 8, 4, 0, r, 0, 1
    return struct.pack(">14I", *words)


def srt17(t, d, b, n, r, w):
    words = 88, 0x70001, t // 10**6, t % 10**6, w // 2, w, n * 512, 1, d, 0, 0, r | 256, 0, 0, 0, 0
    return struct.pack(">16IQ4I", *words, b * 512, 0, 0, 0, 0)


def spc(t, d, b, n, r, w):
    return f"{d},{b},{n * 512},{'rwRW'[(not r) + t % 2 * 2]},{t / 1e6:.6f}"


def msr(t, d, b, n, r, w):
    kind = "Trim" if w % 11 == 0 else "Read" if r else "Write"
    return f"{128166372003061629 + t * 10},usr,{d},{kind},{b * 512},{n * 512 * (w % 7 > 0)},{w}"


def disksim(t, d, b, n, r, w):
    return f"{t / 1e3:.3f} {d} {b} {n} {int(r):x}"


def validate(t, d, b, n, r, w):
    return f"{'R' if r else 'W'} Hit {b:8d} {n:3d} {w}.00000 {w % 977}.5"


def fio(t, d, b, n, r, w):
    return (
        f"{(t + w) // 1000}, {w * 1000}, {2 if w % 13 == 0 else int(not r)}, {n * 512}, {b * 512}, 0x0004, {t * 1000}"
    )


HEADERS = {
    "msr": "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
    "alibaba": "device_id,opcode,offset,length,timestamp",
    "tencent": "Timestamp,Offset,Size,IOType,VolumeID",
    "systor17": "Timestamp,Response,IOType,LUN,Offset,Size",
    "vscsi": "#Serial Number,IO Data Length,Num SG Entries,Command Type,LBN,Time Stamp (microseconds)",
    "libcachesim": "version,time,op,size,lbn",
}


def alibaba(t, d, b, n, r, w):
    return f"{d},{'R' if r else 'W'},{b * 512},{n * 512 * (w % 7 > 0)},{1577808000000000 + t}"


def tencent(t, d, b, n, r, w):
    return f"{1538323200 + t // 10**6},{b},{n * (w % 7 > 0)},{int(not r)},{1200 + d}"


def systor17(t, d, b, n, r, w):
    return f"{1455650400 + t / 1e6:.6f},{w / 1e6:.6f},{'R' if r else 'W'},{d},{b * 512},{n * 512 * (w % 7 > 0)}"


def fiu(t, d, b, n, r, w):
    return f"{89966000000000 + t * 1000} {4000 + w % 9} proc {b} {n * (w % 7 > 0)} {'RWD'[2 * (w % 11 == 0) or not r]} 6 {d}"


def table(t, d, b, n, r, w):
    return f"vol-{d},{'trim' if w % 9 == 0 else 'read' if r else 'W'},{b},{n * (w % 7 > 0)},{w}"


STAMPS = (
    lambda t: str(t // 10**6),
    lambda t: f"{t / 1e6:.6f}",
    lambda t: (datetime(2026, 2, 27, 23, 59) + timedelta(microseconds=t)).isoformat(" ") + "Z" * (t % 2),
    lambda t: (datetime(2028, 2, 28) + timedelta(microseconds=t)).isoformat(),
)
"""Forms of the times of a table: seconds or dates."""


def iolog(t, d, b, n, r, w):
    action = "trim" if w % 11 == 0 else "read" if r else "write"
    return f"{t} /dev/sd{'abcd'[d]} {action} {b * 512} {n * 512}"


def vscsi(t, d, b, n, r, w):
    return f"{2147483600 + d},{n * 512 * (w % 7 > 0)},{1 + w % 9},{'read' if r else 'write'},{b},{2756778716647 + t}"


def libcachesim(t, d, b, n, r, w):
    command = "42" if w % 11 == 0 else "12" if w % 13 == 0 else ("28", "88")[d % 2] if r else ("2a", "8A")[d % 2]
    return f"{1 + w % 2},{33898 + t // 10**6},{command},{n * 512 * (w % 7 > 0)},{b}"


LINES = {
    "spc": spc, "msr": msr, "alibaba": alibaba, "tencent": tencent, "systor17": systor17, "fiu": fiu, "table": table,
    "disksim": disksim, "disksim-validate": validate, "fio": fio, "fio-iolog": iolog,
    "vscsi": vscsi, "libcachesim": libcachesim,
}  # fmt: skip


def events(some, rng: Random) -> list[str]:
    happened = [(t, 0, "Q", i) for i, (t, *_) in enumerate(some)] + [
        (t + w, 1, "C", i) for i, (t, *_, w) in enumerate(some)
    ]
    lines = []
    for number, (at, _, action, i) in enumerate(sorted(happened)):
        _, device, block, blocks, read, _ = some[i]
        if action == "C" and block and rng.random() < 0.3:  # merged with what lies before it
            block, blocks = max(block - 16, 0), blocks + min(block, 16)
        lines.append(f"{'8,' + str(device):>5} {number % 4:>4} {number:>8} {at // 10**6:>5}.{at % 10**6 * 1000:09} {77:>5} "
                     f"{action:>2} {'R' if read else ('WS', 'W')[i % 2]:>3} {block} + {blocks} [fio]")  # fmt: skip
    return [*lines, "", "CPU0 (8,0):", " Reads Queued:   0,   0KiB"] if len(some) % 2 else lines


def issue(some, rng: Random) -> list[str]:
    """Events without Q: with D and C, or with C only; some are trims and flushes."""
    lines = [line.replace("  Q ", "  D ") for line in events(some, rng)]
    lines = [line.replace("  W ", rng.choice(["  W ", " DS ", " FF "])) for line in lines]
    return [line for line in lines if "  D " not in line] if rng.random() < 0.3 else lines


def remapped(some, rng: Random) -> list[str]:
    """Events of a disk, and of devices above it in one or two layers."""
    lines = []
    first = rng.randrange(len(some)) if rng.random() < 0.3 else 0
    for number, (t, device, block, blocks, read, took) in enumerate(some):
        kind = "R" if read else "WS"
        stack = [("253,1", block), ("253,0", block + 384), ("8,0", block + 2048)][rng.choice([0, 1, 1, 2]) :]
        stamp = f"{t // 10**6:>5}.{t % 10**6 * 1000:09} {77:>5}"
        for (name, start_block), above in zip(stack, [None, *stack], strict=False):
            if above and number >= first:
                lines.append(f"{name:>7} 0 1 {stamp}  A {kind:>3} {start_block} + {blocks} <- ({above[0]}) {above[1]}")
            lines.append(f"{name:>7} 0 1 {stamp}  Q {kind:>3} {start_block} + {blocks} [fio]")
        end = t + took
        for name, start_block in reversed(stack if device else stack[:1]):
            lines.append(
                f"{name:>7} 0 1 {end // 10**6:>5}.{end % 10**6 * 1000:09}     0  C {kind:>3} {start_block} + {blocks} [0]"
            )
    return lines


def ftrace(some, rng: Random) -> list[str]:
    perf, recent, issued = rng.random() < 0.5, rng.random() < 0.5, rng.random() < 0.8
    happened = [(t, 0, i) for i, (t, *_) in enumerate(some) if issued] + [
        (t + w, 1, i) for i, (t, *_, w) in enumerate(some)
    ]
    lines = ["# tracer: nop", "#"] if not perf else []
    for at, ends, i in sorted(happened):
        _, device, block, blocks, read, took = some[i]
        begin = f"fio {697:>6} [003] " if perf else "             fio-697     [003] .... "
        name = f"{'block:' * perf}block_rq_{('issue', 'complete')[ends]}"
        kind = "R" if read else ("W", "WS", "DS", "FWS")[took % 4]
        size = "" if ends else f"{blocks * 512} "
        priority = "none,0,0 " * recent
        tail = "[0]" if ends else "[fio]"
        lines.append(f"{begin}{at // 10**6:>5}.{at % 10**6:06}: {name}: 8,{device} {kind} {size}() {block} + {blocks} "
                     f"{priority}{tail}")  # fmt: skip
        if took % 9 == 0:
            lines.append(f"{begin}{at // 10**6:>5}.{at % 10**6:06}: sched_switch: prev_comm=fio ==> next_comm=idle")
    return [*lines, "CPU:3 [LOST 12 EVENTS]"] if len(some) == 30 else lines


def biosnoop(some, rng: Random) -> list[str]:
    queue, title = rng.random() < 0.4, rng.random() < 0.8
    lines = ["TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  " + "QUE(ms) " * queue + "LAT(ms)"] * title
    for t, device, block, blocks, read, took in sorted(some, key=lambda row: row[0] + row[5]):
        comm = ("fio", "kworker/0:3", "Web Content")[took % 3]
        kind = "R" if read else ("W", "WS", "W", "D", "FF")[took % 5]
        size = blocks * 512 * (took % 7 > 0)
        sector = block if size else rng.choice([0, 2**64 - 1, -1])
        lines.append(f"{(t + took) / 1e6:<11.6f} {comm:<14} {1950:<6} {'sd' + 'abcd'[device]:<7} {kind:<4} {sector:<10} "
                     f"{size:<7} {'   0.01 ' * queue}{took / 1e3:7.3f}")  # fmt: skip
    return lines


EVENTS = {
    "blkparse": events, "blkparse-issue": issue, "blkparse-remap": remapped, "ftrace": ftrace, "biosnoop": biosnoop,
}  # fmt: skip


def damaged(data: bytes, rng: Random) -> bytes:
    """The file after one to three kinds of damage."""
    for _ in range(rng.choice([1, 1, 1, 1, 2, 3])):
        data = rng.choice(DAMAGES)(data, rng)
    return data


def some_place(data: bytes, rng: Random) -> int:
    return rng.randrange(len(data) + 1)


def cut(data, rng):
    return data[: some_place(data, rng)]


def beheaded(data, rng):
    return data[some_place(data, rng) :]


def dropped(data, rng):
    at = some_place(data, rng)
    return data[:at] + data[at + rng.randrange(1, 60) :]


def flipped(data, rng):
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 3, 10])):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def inserted(data, rng):
    at = some_place(data, rng)
    return data[:at] + rng.randbytes(rng.choice([1, 2, 8, 300])) + data[at:]


def controlled(data, rng):
    at = some_place(data, rng)
    return data[:at] + rng.choice(CONTROL) + data[at:]


def repeated(data, rng):
    at, length = some_place(data, rng), rng.randrange(1, 200)
    return data[: at + length] + data[at : at + length] * rng.choice([1, 3, 50]) + data[at + length :]


def zeroed(data, rng):
    at, length = some_place(data, rng), rng.randrange(1, 64)
    return data[:at] + bytes(length) + data[at + length :]


def reworded(data, rng):
    """Replace a word of a record, counted from the end."""
    at = len(data) - 4 * rng.randrange(1, 1 + max(len(data) // 4, 1))
    value = rng.choice(
        [0, 1, 2**31 - 1, 2**31, 2**32 - 1, 999_999, 1_000_000, rng.randrange(2**32), rng.randrange(1000)]
    )
    return data[: max(at, 0)] + struct.pack(">I", value) + data[max(at, 0) + 4 :]


def swapped(data, rng):
    lines = data.split(b"\n")
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]
    return b"\n".join(lines)


def without_line_end(data, rng):
    at = rng.choice([i for i, byte in enumerate(data) if byte == 10] or [0])
    return data[:at] + rng.choice([b"", b"", b" ", b"\r", b",", b"\n\n"]) + data[at + 1 :]


def renumbered(data, rng):
    """Replace one number of the file, up to the largest numbers."""
    ends = [i for i, byte in enumerate(data) if byte in b" ,\n\t"]
    if len(ends) < 2:
        return rng.choice(HUGE) + data
    at = rng.randrange(len(ends) - 1)
    return data[: ends[at] + 1] + rng.choice(HUGE) + data[ends[at + 1] :]


def padded(data, rng):
    at = some_place(data, rng)
    filling = rng.choice([b" ", b"0", b"9", b",", b"x", b"\t", b"\n", b"#", b"."])
    return data[:at] + filling * rng.choice([10, 1000, 70_000]) + data[at:]


def commented(data, rng):
    at = some_place(data, rng)
    return (
        data[:at]
        + rng.choice([b"#", b"\n# a comment\n", b"\n\n", b"\nTimestamp,Hostname\n", b"\nTotal (8,0):\n"])
        + data[at:]
    )


def described(data, rng):
    """Put a long description before the trace, up to the limit of the bytes that show its format."""
    return (
        rng.choice([b"#\n", b"# a line of the description\n", b" \t\r\n", b"\n"]) * rng.choice([25, 2_000, 40_000])
        + data
    )


def of_wrong_magic(data, rng):
    magic = rng.choice(MAGIC)
    return magic + data[rng.choice([0, len(magic)]) :]


def glued(data, rng):
    """Append another file, perhaps of another format."""
    return data + valid(rng.choice(KINDS), rng)


DAMAGES = (
    cut, beheaded, dropped, flipped, inserted, controlled, repeated, zeroed, reworded, reworded, swapped, without_line_end,
    renumbered, renumbered, renumbered, padded, commented, described, of_wrong_magic, glued,
)  # fmt: skip
