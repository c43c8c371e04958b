"""A second, slow and plain reader of all trace formats: storagekit.workload.trace must agree with it on any file.

This file does not use the package. `strict` takes the bytes of a file and returns its requests. It raises ValueError
where the file must be rejected.
"""

import struct
from fractions import Fraction
from typing import NamedTuple

FAR, LARGE, LINE = 2**62, 2**40, 65_536
BEHIND = 60  # s


class Request(NamedTuple):
    """Times in seconds; `clock` counts from the origin of the file."""

    clock: Fraction
    device: str
    offset: int
    size: int
    read: bool
    asynchronous: bool | None = None
    response: Fraction | None = None


class Strict(NamedTuple):
    """The requests of a file in order of time, and whether the end of its last line is missing."""

    requests: list[Request]
    unfinished: bool


def strict(name: str, data: bytes) -> Strict:
    """Read the file as the format of this name."""
    if not data:
        raise ValueError("empty")
    unfinished = False
    if name == "fio-iolog":
        requests, unfinished = iolog(data)
    elif name == "srt":
        requests = srt(data)
    elif name == "blkparse":
        requests, unfinished = blkparse(data)
    else:
        lines = lines_of(data)
        requests, unfinished = LINE_FORMATS[name](lines, data), bool(lines and lines[-1][1])
    if not requests:
        raise ValueError("no request")
    latest = requests[0].clock
    for one in requests:
        latest = max(latest, one.clock)
        if latest - one.clock > BEHIND:
            raise ValueError("out of order")
    return Strict(sorted(requests, key=lambda one: one.clock), unfinished)


def lines_of(data: bytes) -> list[tuple[str, bool, int]]:
    """Each line with content, whether it is the last one without its end, and its number."""
    said = []
    parts = data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    for number, part in enumerate(parts, 1):
        last = number == len(parts)
        if len(part) + (not last) > LINE:
            raise ValueError("long line")
        text = part.split(b"#")[0].decode("latin-1").strip(" \t\r")
        if last and part.strip(b" \t\r") and not text:
            said.append(("", True, number))
        elif text:
            said.append((text, last, number))
    return said


def fields(text: str, separator: str | None, count: int) -> list[str]:
    if not all(" " <= character <= "~" or character == "\t" for character in text):
        raise ValueError("not printable ASCII")
    parts = [part.strip(" \t") for part in text.split(separator)]
    if len(parts) != count:
        raise ValueError("number of fields")
    return parts


def digits(text: str) -> bool:
    return text != "" and all(character in "0123456789" for character in text)


def whole(text: str, low: int, high: int) -> int:
    unsigned = text[1:] if text[:1] in ("+", "-") else text
    significant = unsigned.lstrip("0") or "0"
    if not digits(unsigned) or len(significant) > 30:
        raise ValueError("whole number")
    value = -int(significant) if text[0] == "-" else int(significant)
    if not low <= value <= high:
        raise ValueError("range")
    return value


def number(text: str, high: float = 1e15) -> float:
    if not all(character in "0123456789+-.eE" for character in text):
        raise ValueError("number")
    value = float(text)
    if not 0 <= value <= high:
        raise ValueError("range")
    return value


def word(text: str) -> str:
    if not 1 <= len(text) <= 63 or " " in text or "\t" in text:
        raise ValueError("word")
    return text


def choice(text: str, yes: str, no: str) -> bool:
    if text.lower() not in (yes, no):
        raise ValueError("choice")
    return text.lower() == yes


def first_row(data: bytes) -> str:
    """The first line with content among the first 20 lines of the first 4,096 bytes."""
    head = data[:4096].removeprefix(b"\xef\xbb\xbf").split(b"\n")[:20]
    return next(filter(None, (line.split(b"#")[0].decode("latin-1").strip(" \t\r") for line in head)), "")


def separator_of(data: bytes) -> str:
    first = first_row(data)
    return "\t" if "," not in first and "\t" in first else ","


def spc(lines, data) -> list[Request]:
    found, glue = [], separator_of(data)
    columns = first_row(data).count(glue) + 1
    if not 5 < columns <= 5 + 32:
        columns = 5
    for text, _, _ in lines:
        if text:
            asu, lba, size, opcode, stamp, *_ = fields(text, glue, columns)
            device, offset = str(whole(asu, 0, 2**31 - 1)), whole(lba, 0, FAR // 512) * 512
            size = whole(size, 0, LARGE)
            read = choice(opcode, "r", "w")
            clock = Fraction(number(stamp))
            if size:
                found.append(Request(clock, device, offset, size, read))
    return found


def titled(lines, beginning: str):
    """The texts of the lines, without a first one that names the columns."""
    texts = [text for text, _, _ in lines]
    full = [at for at, text in enumerate(texts) if text]
    if full and texts[full[0]].lower().startswith(beginning):
        del texts[full[0]]
    return [text for text in texts if text]


def msr(lines, data) -> list[Request]:
    found, glue = [], separator_of(data)
    for text in titled(lines, "timestamp,"):
        stamp, host, disk, kind, offset, size, took = fields(text, glue, 7)
        clock = Fraction(whole(stamp, 0, FAR), 10**7)
        device = f"{word(host)}.{whole(disk, 0, 65_535)}"
        read = choice(kind[:1] if kind.lower() in ("read", "write") else kind, "r", "w")
        place = whole(offset, 0, FAR), whole(size, 1, LARGE)
        found.append(Request(clock, device, *place, read, None, Fraction(whole(took, 0, FAR), 10**7)))
    return found


def alibaba(lines, data) -> list[Request]:
    found, glue = [], separator_of(data)
    for text in titled(lines, "device_id,"):
        volume, kind, offset, size, stamp = fields(text, glue, 5)
        device, read = str(whole(volume, 0, FAR)), choice(kind, "r", "w")
        place = whole(offset, 0, FAR), whole(size, 1, LARGE)
        found.append(Request(Fraction(whole(stamp, 0, FAR), 10**6), device, *place, read))
    return found


def tencent(lines, data) -> list[Request]:
    found, glue = [], separator_of(data)
    for text in titled(lines, "timestamp,offset,"):
        stamp, offset, size, kind, volume = fields(text, glue, 5)
        second, place = whole(stamp, 0, 2**40), whole(offset, 0, FAR // 512) * 512
        size, read = whole(size, 1, LARGE // 512) * 512, choice(kind, "0", "1")
        found.append(Request(Fraction(second), str(whole(volume, 0, FAR)), place, size, read))
    spread: list[Request] = []
    while len(spread) < len(found):
        begin = end = len(spread)
        while end < len(found) and found[end].clock == found[begin].clock:
            end += 1
        for at in range(begin, end):
            spread.append(found[at]._replace(clock=found[at].clock + Fraction(at - begin, end - begin)))
    return spread


def systor17(lines, data) -> list[Request]:
    found, glue = [], separator_of(data)
    for text in titled(lines, "timestamp,response,"):
        stamp, took, kind, unit, offset, size = fields(text, glue, 6)
        clock, took, read = Fraction(number(stamp)), Fraction(number(took)), choice(kind, "r", "w")
        device, place, size = str(whole(unit, 0, FAR)), whole(offset, 0, FAR), whole(size, 0, LARGE)
        if size:
            found.append(Request(clock, device, place, size, read, None, took))
    return found


def fiu(lines, data) -> list[Request]:
    found = []
    columns = 9 if len(first_row(data).split()) == 9 else 8
    for text, _, _ in lines:
        if text:
            stamp, process, _, address, size, kind, major, minor, *_ = fields(text, None, columns)
            clock, _ = Fraction(whole(stamp, 0, FAR), 10**9), whole(process, 0, 2**32)
            place = whole(address, 0, FAR // 512) * 512, whole(size, 1, LARGE // 512) * 512
            device = f"{whole(major, 0, 2**20 - 1)},{whole(minor, 0, 2**20 - 1)}"
            found.append(Request(clock, device, *place, choice(kind, "r", "w")))
    return found


TABLE_COLUMNS = "time=1:us,device=2,operation=3,offset=4:sectors,size=5:sectors,response=6:us"
TABLE_SKIPPED = ("t", "trim", "d", "discard", "unmap", "f", "flush", "sync", "fsync", "datasync", "fdatasync")
TABLE_READ = ("r", "read", "rd", "ra", "rs", "rm", "readahead")
TABLE_WRITE = ("w", "write", "wr", "ws", "wm", "wfs", "wsm", "was")


def table(lines, data) -> list[Request]:
    """A table whose columns have the numbers of `TABLE_COLUMNS`."""
    head = data[:4096].removeprefix(b"\xef\xbb\xbf").split(b"\n")[:20]
    bare = (line.split(b"#")[0].decode("latin-1").strip(" \t\r") for line in head)
    first = [text for text in bare if text]
    if not first:
        raise ValueError("no row")
    glue: str | None = ","
    for one in (",", "\t", ";", "|", None):
        counts = {len(text.split(one)) for text in first[:10]}
        if len(counts) == 1 and counts.pop() >= 4:
            glue = one
            break
    rows = [[part.strip() for part in text.split(glue)] for text in first]
    if len(rows[0]) < 6:
        raise ValueError("columns")
    titled_by = not plain_number(rows[0][0])
    texts = [text for text, _, _ in lines if text][titled_by:]
    integers = all(digits(row[0][1:] if row[0][:1] in ("+", "-") else row[0]) for row in rows[titled_by:])
    found = []
    for text in texts:
        stamp, device, kind, offset, size, took, *_ = fields(text, glue, len(rows[0]))
        if kind.lower() in TABLE_SKIPPED or (kind.lower().startswith("zone_") and kind.lower()[5:] in ZONES):
            continue
        clock = Fraction(whole(stamp, 0, FAR) if integers else number(stamp)) / 10**6
        word(device)
        if kind.lower() not in (*TABLE_READ, *TABLE_WRITE):
            raise ValueError("operation")
        place = whole(offset, 0, FAR // 512) * 512, whole(size, 1, LARGE // 512) * 512
        response = Fraction(number(took)) / 10**6
        found.append(Request(clock, device, *place, kind.lower() in TABLE_READ, None, response))
    return found


ZONES = ("append", "reset", "open", "close", "finish")


def plain_number(text: str) -> bool:
    """Whether the text has a sign, digits and points, and an exponent, as a column of times has."""
    bare = text[1:] if text[:1] in ("+", "-") else text
    mantissa, _, exponent = bare.replace("E", "e").partition("e")
    power = exponent[1:] if exponent[:1] in ("+", "-") else exponent
    good = mantissa != "" and all(character in "0123456789." for character in mantissa)
    return good and (digits(power) if "e" in bare.replace("E", "e") else True)


def disksim(lines, _) -> list[Request]:
    found = []
    for text, _, _ in lines:
        if text:
            arrival, device, block, blocks, flags = fields(text, None, 5)
            bare = flags[2:] if flags[:2] in ("0x", "0X") else flags
            if not 1 <= len(bare) <= 8 or not all(character in "0123456789abcdefABCDEF" for character in bare):
                raise ValueError("flags")
            place = whole(block, 0, FAR // 512) * 512, whole(blocks, 1, LARGE // 512) * 512
            clock, name = Fraction(number(arrival)) / 1000, str(whole(device, 0, 2**31 - 1))
            found.append(Request(clock, name, *place, int(bare, 16) % 2 == 1))
    return found


def validate(lines, _) -> list[Request]:
    found, clock = [], Fraction(0)
    for text, _, _ in lines:
        if text:
            kind, category, block, blocks, service, think = fields(text, None, 6)
            word(category)
            place = whole(block, 0, FAR // 512) * 512, whole(blocks, 1, LARGE // 512) * 512
            took, rest = Fraction(number(service, 1e12)), Fraction(number(think, 1e12))
            found.append(Request(clock / 10**6, "0", *place, choice(kind, "r", "w"), None, took / 10**6))
            clock += took + rest
    return found


def fio(lines, data) -> list[Request]:
    commas = first_row(data).count(",")
    if commas == 3:
        raise ValueError("without offsets")
    rows = []
    for line in data[:65_536].split(b"\n")[:-1]:
        try:
            row = [float(part) for part in line.split(b",")[:5]]
        except ValueError:
            continue
        if len(row) == 5 and all(abs(value) < float("inf") for value in row):
            rows.append(row)
    if len(rows) >= 5 and len({row[4] for row in rows}) == 1:
        raise ValueError("another kind of log")
    columns = min(max(commas + 1, 5), 7)
    found = []
    for text, _, _ in lines:
        if text:
            entry, latency, direction, size, offset, *more = fields(text, ",", columns)
            if direction == "2":
                continue
            logged, took = whole(entry, 0, 2**53) * 10**6, Fraction(number(latency))
            place = whole(offset, 0, FAR), whole(size, 1, LARGE)
            if more:
                word(more[0])
            issued = Fraction(whole(more[1], 0, FAR)) if len(more) == 2 else logged - took
            read = choice(direction, "0", "1")
            found.append(Request(issued / 10**9, "0", *place, read, None, took / 10**9))
    return found


def iolog(data: bytes) -> tuple[list[Request], bool]:
    bare = data.removeprefix(b"\xef\xbb\xbf")
    title = bare[:64].split(b"\n")[0].strip()
    versions = [n for n in (2, 3) if title == b"fio version %d iolog" % n]
    if not versions:
        raise ValueError("title")
    found, clock, unfinished = [], 0, False
    lines = data.split(b"\n")
    for at, line in enumerate(lines, 1):
        if len(line) + (at < len(lines)) > LINE:
            raise ValueError("long line")
        parts = line.decode("latin-1").strip(" \t\r").split()
        unfinished = at == len(lines) and bool(line.strip(b" \t\r"))
        if at == 1 or not parts:
            continue
        if versions == [3]:
            time, *parts = parts
            time = whole(time, 0, 2**53)
        if len(parts) < 2:
            raise ValueError("number of fields")
        name, action, *numbers = parts
        if not 1 <= len(name) <= 63 or not all("!" <= character <= "~" for character in name):
            raise ValueError("file")
        if action in ("add", "open", "close") and not numbers:
            continue
        if action in ("trim", "sync", "datasync", "sync_file_range"):
            continue
        if action == "wait" and len(numbers) in (1, 2):
            clock += whole(numbers[0], 0, 2**53)
            continue
        if action not in ("read", "write") or len(numbers) != 2:
            raise ValueError("action")
        clock = time if versions == [3] else clock
        place = whole(numbers[0], 0, FAR), whole(numbers[1], 1, LARGE)
        found.append(Request(Fraction(clock, 10**6), name, *place, action == "read"))
    return found, unfinished


LINE_FORMATS = {
    "spc": spc, "msr": msr, "alibaba": alibaba, "tencent": tencent, "systor17": systor17, "fiu": fiu, "table": table,
    "disksim": disksim, "disksim-validate": validate, "fio": fio,
}  # fmt: skip


def taken(text: str) -> tuple[str, str]:
    """The first word, and the text after it and its blanks."""
    first, blank, rest = text.partition(" ")
    if not blank:
        raise ValueError("number of fields")
    return first, rest.lstrip(" ")


def summary(text: str) -> bool:
    first, _, rest = text.partition(" ")
    named = first == "Total" or (first[:3] == "CPU" and digits(first[3:]))
    rest = rest[:-1] if rest.endswith("):") else rest
    return named and len(rest) >= 2 and rest[0] == "(" and rest[-1] == ")"


def blkparse(data: bytes) -> tuple[list[Request], bool]:
    lines = [(line.decode("latin-1").strip(" \t\r"), line) for line in data.split(b"\n")]
    waiting: list[dict] = []
    unfinished = completions = False
    for at, (text, line) in enumerate(lines, 1):
        last = at == len(lines)
        if len(line) + (not last) > LINE:
            raise ValueError("long line")
        if summary(text):
            break
        if not text:
            continue
        unfinished = last
        one = event(text)
        if one is None:
            continue
        if one["action"] == "Q":
            waiting.append(one)
            continue
        completions = True
        mine = [w for w in waiting if w["took"] is None and (w["device"], w["read"]) == (one["device"], one["read"])]
        same = [w for w in mine if (w["start"], w["stop"]) == (one["start"], one["stop"])][:1]
        for w in same or [w for w in mine if one["start"] < w["stop"] <= one["stop"]]:
            w["took"] = one["clock"] - w["clock"]
            if w["took"] < 0:
                raise ValueError("completed before it was queued")
    over = [w for w in waiting if w["took"] is not None or not completions]
    return [
        Request(
            Fraction(w["clock"], 10**9),
            w["device"],
            w["start"] * 512,
            (w["stop"] - w["start"]) * 512,
            w["read"],
            w["hidden"],
            None if w["took"] is None else Fraction(w["took"], 10**9),
        )
        for w in over
    ], unfinished


def event(text: str) -> dict | None:
    device, rest = taken(text)
    cpu, rest = taken(rest)
    sequence, rest = taken(rest)
    stamp, rest = taken(rest)
    process, rest = taken(rest)
    action, rest = taken(rest)
    seconds, _, nanoseconds = stamp.partition(".")
    numbers = device.split(",")
    if len(numbers) != 2 or not all(digits(part) and len(part) <= 10 for part in numbers):
        raise ValueError("device")
    if not all(map(digits, (cpu, sequence, process, seconds, nanoseconds))) or len(nanoseconds) != 9:
        raise ValueError("numbers")
    if action != "m" and not (len(action) <= 2 and action.isascii() and action.isalpha() and action.isupper()):
        raise ValueError("action")
    if action not in ("Q", "C"):
        return None
    kind, _, place = rest.partition(" ")
    parts = place.lstrip(" ").split(" ")
    if not (kind.isascii() and kind.isalpha() and kind.isupper()) or len(parts) < 3 or parts[1] != "+":
        return None
    if not digits(parts[0]) or not digits(parts[2]) or not parts[2].strip("0"):
        return None
    if not ("R" in kind or "W" in kind) or "D" in kind:
        return None
    start, sectors = whole(parts[0], 0, FAR // 512), whole(parts[2], 1, LARGE // 512)
    clock = whole(seconds, 0, 2**63 // 10**9 - 1) * 10**9 + int(nanoseconds)
    read = "R" in kind
    hidden = not read and "S" not in kind
    return dict(
        action=action,
        clock=clock,
        device=device,
        start=start,
        stop=start + sectors,
        read=read,
        hidden=hidden,
        took=None,
    )


def srt(data: bytes) -> list[Request]:
    version, form_feed = data[11:14], data[:LINE].find(b"\f")
    if data[:11] != b"$$TR_IOREC-" or version not in (b"1.3", b"1.7") or form_feed < 0:
        raise ValueError("header")
    sector, found, at = sector_size(data[:form_feed]), [], form_feed + 1
    count, kind = (14, 0x40001) if version == b"1.3" else (22, 0x70001)
    while at < len(data):
        if at + 4 * count > len(data):
            raise ValueError("cut")
        words = struct.unpack(f">{count}I", data[at : at + 4 * count])
        at += 4 * count
        if version == b"1.3":
            offset, device = words[7] * sector, str(words[8] // 256 % 256)
        else:
            offset, device = words[16] * 2**32 + words[17], f"0x{words[8]:08x}"
        if words[0] != 4 * count or words[1] != kind or words[3] >= 10**6 or words[6] == 0 or words[5] < words[4]:
            raise ValueError("record")
        if offset > FAR:
            raise ValueError("offset")
        clock, response = Fraction(words[2] * 10**6 + words[3], 10**6), Fraction(words[5], 10**6)
        flags = words[11]
        found.append(Request(clock, device, offset, words[6], flags % 2 == 1, flags // 256 % 2 == 1, response))
    return found


def sector_size(header: bytes) -> int:
    """Parse the text after each `sectorsize`: blanks, an equals sign, blanks, and up to nine digits that end the
    word."""
    sizes = set()
    for rest in header.split(b"sectorsize")[1:]:
        rest = rest.lstrip(b" \t\n\r\f\v")
        if rest[:1] != b"=":
            continue
        rest = rest[1:].lstrip(b" \t\n\r\f\v")
        length = len(rest) - len(rest.lstrip(b"0123456789"))
        following = rest[length : length + 1]
        if 1 <= length <= 9 and not (following.isalnum() or following == b"_"):
            sizes.add(int(rest[:length]))
    if len(sizes) > 1 or any(not 1 <= size <= 65_536 for size in sizes):
        raise ValueError("sector sizes")
    return sizes.pop() if sizes else 256
