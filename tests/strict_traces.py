"""A second, slow and plain reader of all trace formats: storagekit.workload.trace must agree with it on any file.

This file does not use the package. `strict` takes the bytes of a file and returns its requests. It raises ValueError
where the file must be rejected.
"""

import csv
import datetime
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
    elif name in ("blkparse", "blkparse-all"):
        requests, unfinished = block_events(data, event, "QDC", name == "blkparse")
    elif name == "ftrace":
        requests, unfinished = block_events(data, tracepoint, "DC", False)
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


def first_rows(data: bytes) -> list[str]:
    """The lines with content among 20 lines and 4,096 bytes from the first one in 64 KiB."""
    head = data[:LINE].removeprefix(b"\xef\xbb\xbf")
    while b"\n" in head and not head.partition(b"\n")[0].split(b"#")[0].strip(b" \t\r"):
        head = head.partition(b"\n")[2]
    lines = head[:4096].split(b"\n")[:20]
    return [text for line in lines if (text := line.split(b"#")[0].decode("latin-1").strip(" \t\r"))]


def first_row(data: bytes) -> str:
    return (first_rows(data) or [""])[0]


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


def titled(lines, names: str, glue: str):
    """The texts of the lines, without a first one that names the columns."""
    texts = [text for text, _, _ in lines]
    full = [at for at, text in enumerate(texts) if text]
    if full and [part.strip(" \t").lower() for part in texts[full[0]].split(glue)] == names.lower().split(","):
        del texts[full[0]]
    return [text for text in texts if text]


def msr(lines, data) -> list[Request]:
    found, glue = [], separator_of(data)
    for text in titled(lines, "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime", glue):
        stamp, host, disk, kind, offset, size, took = fields(text, glue, 7)
        if other(kind):
            continue
        clock = Fraction(whole(stamp, 0, FAR), 10**7)
        device = f"{word(host)}.{whole(disk, 0, 65_535)}"
        read = choice(kind[:1] if kind.lower() in ("read", "write") else kind, "r", "w")
        byte_range, response = (whole(offset, 0, FAR), whole(size, 0, LARGE)), Fraction(whole(took, 0, FAR), 10**7)
        if byte_range[1]:
            found.append(Request(clock, device, *byte_range, read, None, response))
    return found


def alibaba(lines, data) -> list[Request]:
    found, glue = [], separator_of(data)
    for text in titled(lines, "device_id,opcode,offset,length,timestamp", glue):
        volume, kind, offset, size, stamp = fields(text, glue, 5)
        device, read = str(whole(volume, 0, FAR)), choice(kind, "r", "w")
        byte_range, clock = (whole(offset, 0, FAR), whole(size, 0, LARGE)), Fraction(whole(stamp, 0, FAR), 10**6)
        if byte_range[1]:
            found.append(Request(clock, device, *byte_range, read))
    return found


def tencent(lines, data) -> list[Request]:
    found, glue = [], separator_of(data)
    for text in titled(lines, "Timestamp,Offset,Size,IOType,VolumeID", glue):
        stamp, offset, size, kind, volume = fields(text, glue, 5)
        second, start = whole(stamp, 10**9, 2**40), whole(offset, 0, FAR // 512) * 512
        size, read = whole(size, 0, LARGE // 512) * 512, choice(kind, "0", "1")
        device = str(whole(volume, 0, FAR))
        if size:
            found.append(Request(Fraction(second), device, start, size, read))
    return over_seconds(found)


def over_seconds(found: list[Request]) -> list[Request]:
    """The requests of each second spread evenly over it."""
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
    for text in titled(lines, "Timestamp,Response,IOType,LUN,Offset,Size", glue):
        stamp, took, kind, unit, offset, size = fields(text, glue, 6)
        clock, took, read = Fraction(number(stamp)), Fraction(number(took)), choice(kind, "r", "w")
        device, start, size = str(whole(unit, 0, FAR)), whole(offset, 0, FAR), whole(size, 0, LARGE)
        if size:
            found.append(Request(clock, device, start, size, read, None, took))
    return found


def fiu(lines, data) -> list[Request]:
    found = []
    columns = 9 if len(first_row(data).split()) == 9 else 8
    for text, _, _ in lines:
        if text:
            stamp, process, _, address, size, kind, major, minor, *_ = fields(text, None, columns)
            if other(kind):
                continue
            clock, _ = Fraction(whole(stamp, 0, FAR), 10**9), whole(process, 0, 2**32)
            byte_range = whole(address, 0, FAR // 512) * 512, whole(size, 0, LARGE // 512) * 512
            device, read = f"{whole(major, 0, 2**20 - 1)},{whole(minor, 0, 2**20 - 1)}", choice(kind, "r", "w")
            if byte_range[1]:
                found.append(Request(clock, device, *byte_range, read))
    return found


def vscsi(lines, data) -> list[Request]:
    found, glue = [], separator_of(data)
    header = "Serial Number,IO Data Length,Num SG Entries,Command Type,LBN,Time Stamp (microseconds)"
    for text in titled(lines, header, glue):
        serial, size, entries, kind, block, stamp = fields(text, glue, 6)
        whole(serial, 0, FAR), whole(entries, 0, 2**32)
        size, start, clock = whole(size, 0, LARGE), whole(block, 0, FAR // 512) * 512, whole(stamp, 0, FAR)
        read = None if other(kind) else choice(kind, "read", "write")
        if size and read is not None:
            found.append(Request(Fraction(clock, 10**6), "0", start, size, read))
    return found


SCSI_READ, SCSI_WRITE = ("8", "08", "28", "88", "a8"), ("a", "0a", "2a", "2e", "89", "8a", "8e", "aa", "ae")
SCSI_OTHER = ("15", "16", "17", "1b", "1e", "55", "56", "57", "83", "84", "85", "9f", "a3", "a4", "0", "00",
              "3", "03", "12", "1a", "25", "2f", "35", "41", "42", "4d", "5a", "5e", "5f", "8f", "91", "93",
              "9e", "a0")  # fmt: skip


def libcachesim(lines, data) -> list[Request]:
    found, glue = [], separator_of(data)
    for text in titled(lines, "version,time,op,size,lbn", glue):
        version, stamp, command, size, block = fields(text, glue, 5)
        command = command.lower().removeprefix("0x")
        if command in SCSI_OTHER:
            continue
        whole(version, 1, 2)
        second, size, start = whole(stamp, 0, 2**40), whole(size, 0, LARGE), whole(block, 0, FAR // 512) * 512
        if command not in (*SCSI_READ, *SCSI_WRITE):
            raise ValueError("command")
        if size:
            found.append(Request(Fraction(second), "0", start, size, command in SCSI_READ))
    return over_seconds(found)


TABLE_COLUMNS = "time=1,device=2,operation=3,offset=4:sectors,size=5:sectors,response=6:us"
TABLE_SKIPPED = ("t", "trim", "d", "discard", "unmap", "f", "flush", "sync", "fsync", "datasync", "fdatasync")
TABLE_READ = ("r", "read", "rd", "ra", "rs", "rm", "readahead")
TABLE_WRITE = ("w", "write", "wr", "ws", "wm", "wfs", "wsm", "was")


def other(kind: str) -> bool:
    """Whether an operation is neither a read nor a write."""
    return kind.lower() in TABLE_SKIPPED or (kind.lower().startswith("zone_") and kind.lower()[5:] in ZONES)


def table(lines, data) -> list[Request]:
    """A table whose columns have the numbers of `TABLE_COLUMNS`."""
    first = first_rows(data)
    if not first:
        raise ValueError("no row")
    glue: str | None = ","
    for one in (",", "\t", ";", "|", None):
        counts = {len(apart(text, one)) for text in first[:10]}
        if len(counts) == 1 and counts.pop() >= 4:
            glue = one
            break
    rows = [apart(text, glue) for text in first]
    if len(rows[0]) < 6:
        raise ValueError("columns")
    titled_by = not plain_number(rows[0][0]) and not dated(rows[0][0])
    texts = [text for text, _, _ in lines if text][titled_by:]
    integers = all(digits(row[0][1:] if row[0][:1] in ("+", "-") else row[0]) for row in rows[titled_by:])
    dates = any(dated(row[0]) for row in rows[titled_by:])
    found = []
    for text in texts:
        stamp, device, kind, offset, size, took, *_ = quoted(text, glue, len(rows[0]))
        if other(kind):
            continue
        clock = date(stamp) if dates else Fraction(whole(stamp, 0, FAR) if integers else number(stamp))
        word(device)
        if kind.lower() not in (*TABLE_READ, *TABLE_WRITE):
            raise ValueError("operation")
        byte_range = whole(offset, 0, FAR // 512) * 512, whole(size, 0, LARGE // 512) * 512
        response = Fraction(number(took)) / 10**6
        if byte_range[1]:
            found.append(Request(clock, device, *byte_range, kind.lower() in TABLE_READ, None, response))
    return found


def dated(text: str) -> bool:
    """Whether a text begins with a date."""
    return len(text) >= 10 and text[4] == text[7] == "-" and digits(text[:4] + text[5:7] + text[8:10])


def date(text: str) -> Fraction:
    """The seconds since 1970 of a date and time of day in UTC."""
    day, letter, clock, (_, *rest) = text[:10], text[10:11], text[11:19], text[18:] or " "
    fraction = "".join(rest).removesuffix("Z")
    numbers = [clock[:2], clock[3:5], clock[6:8]]
    if not dated(day) or letter not in ("T", " ") or not all(len(one) == 2 and digits(one) for one in numbers):
        raise ValueError("date")
    if clock[2] + clock[5] != "::" or (
        fraction and not (fraction[0] == "." and digits(fraction[1:]) and len(fraction) < 11)
    ):
        raise ValueError("time of day")
    hour, minute, second = map(int, numbers)
    days = datetime.date(int(day[:4]), int(day[5:7]), int(day[8:])) - datetime.date(1970, 1, 1)
    if hour > 23 or minute > 59 or second > 59 or days.days < 0 or int(day[:4]) > 2261:
        raise ValueError("range of a date")
    return days.days * 86_400 + hour * 3600 + minute * 60 + second + Fraction("0" + fraction)


def apart(text: str, glue: str | None) -> list[str]:
    try:
        whole_line = glue is not None and '"' in text
        parts = next(csv.reader([text], delimiter=glue, strict=True)) if whole_line and glue else text.split(glue)
    except csv.Error:
        parts = text.split(glue)
    return [part.strip() for part in parts]


def quoted(text: str, glue: str | None, count: int) -> list[str]:
    """The fields of a line in which double quotes may stand around a field."""
    if glue is None or '"' not in text:
        return fields(text, glue, count)
    fields(text.replace('"', ""), None, len(text.replace('"', "").split()))  # printable
    try:
        parts = [part.strip() for part in next(csv.reader([text], delimiter=glue, strict=True))]
    except csv.Error as error:
        raise ValueError("quote") from error
    if len(parts) != count:
        raise ValueError("number of fields")
    return parts


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
            byte_range = whole(block, 0, FAR // 512) * 512, whole(blocks, 1, LARGE // 512) * 512
            clock, name = Fraction(number(arrival)) / 1000, str(whole(device, 0, 2**31 - 1))
            found.append(Request(clock, name, *byte_range, int(bare, 16) % 2 == 1))
    return found


def validate(lines, _) -> list[Request]:
    found, clock = [], Fraction(0)
    for text, _, _ in lines:
        if text:
            kind, category, block, blocks, service, think = fields(text, None, 6)
            word(category)
            byte_range = whole(block, 0, FAR // 512) * 512, whole(blocks, 1, LARGE // 512) * 512
            took, rest = Fraction(number(service, 1e12)), Fraction(number(think, 1e12))
            found.append(Request(clock / 10**6, "0", *byte_range, choice(kind, "r", "w"), None, took / 10**6))
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
            byte_range = whole(offset, 0, FAR), whole(size, 1, LARGE)
            if more:
                word(more[0])
            issued = Fraction(whole(more[1], 0, FAR)) if len(more) == 2 else logged - took
            read = choice(direction, "0", "1")
            found.append(Request(issued / 10**9, "0", *byte_range, read, None, took / 10**9))
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
        byte_range = whole(numbers[0], 0, FAR), whole(numbers[1], 1, LARGE)
        found.append(Request(Fraction(clock, 10**6), name, *byte_range, action == "read"))
    return found, unfinished


TITLE = ["TIME(s)", "COMM", "PID", "DISK", "T", "SECTOR", "BYTES"]


def biosnoop(lines, data) -> list[Request]:
    first = first_rows(data)
    if any(text.split()[:1] == ["TIME(ms)"] and "COMM" in text.split() for text in first):
        raise ValueError("bpftrace")
    titles = [text.split() for text in first if text.split()[:7] == TITLE]
    if titles:
        between = sum(name in titles[0] for name in ("P", "QUE(ms)"))
    else:
        between = next((more for more in (0, 1, 2) if any(reads(text, more) for text in first)), 0)
    texts = [text for text, _, _ in lines]
    full = [at for at, text in enumerate(texts) if text]
    if full and texts[full[0]].split()[:7] == TITLE:
        del texts[full[0]]
    found = [completed(text, between) for text in texts if text]
    return [one for one in found if one is not None and one.size]


def reads(text: str, between: int) -> bool:
    try:
        return completed(text, between) is not None
    except ValueError:
        return False


def completed(text: str, between: int) -> Request | None:
    """The request of a line of biosnoop with some fields between the size and the latency, or None if it is skipped."""
    if not all(" " <= character <= "~" or character == "\t" for character in text):
        raise ValueError("not printable ASCII")
    parts = text.replace("\t", " ").split(" ")
    parts = [part for part in parts if part]
    if len(parts) < 8 + between:
        raise ValueError("number of fields")
    process, disk, kind, sector, size = parts[len(parts) - 6 - between : len(parts) - 1 - between]
    letters = kind.removeprefix("F")
    if not letters or letters[0] not in "RWDFNZ":
        letters = kind
    flags = letters[2:] if letters[:2] == "DE" else letters[1:]
    if letters[:1] == "Z":
        # one or two more letters of any kind, and then flags
        flags = min((flags[n:] for n in range(min(2, capitals(flags)) + 1)), key=lambda rest: not in_order(rest))
    if letters[:1] not in tuple("RWDFNZ") or not in_order(flags):
        raise ValueError("letters")
    if letters[0] not in "RW":
        return None
    ended, took = number(parts[0], 1e9), number(parts[-1], 1e12)
    clock = Fraction(round(ended * 1e9) - round(took * 1e6), 10**9)
    whole(process, 0, 2**32)
    start = 0 if set(size) == {"0"} and digits(sector.removeprefix("-")) else whole(sector, 0, FAR // 512) * 512
    return Request(clock, word(disk), start, whole(size, 0, LARGE), letters[0] == "R", None, Fraction(took) / 1000)


def capitals(text: str) -> int:
    return next((at for at, letter in enumerate(text) if not "A" <= letter <= "Z"), len(text))


def in_order(flags: str) -> bool:
    for flag in "FASMU":
        flags = flags.removeprefix(flag)
    return not flags


LINE_FORMATS = {
    "spc": spc, "msr": msr, "alibaba": alibaba, "tencent": tencent, "systor17": systor17, "fiu": fiu, "table": table,
    "disksim": disksim, "disksim-validate": validate, "fio": fio, "biosnoop": biosnoop,
    "vscsi": vscsi, "libcachesim": libcachesim,
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


def block_events(data: bytes, parse, kinds: str, lowest: bool) -> tuple[list[Request], bool]:
    """The requests of events that `parse` returns; `kinds` are the events that may be the arrival, the best first."""
    lines = [(line.decode("latin-1").strip(" \t\r"), line) for line in data.split(b"\n")]
    arrival = next((kind for kind in kinds if kind in seen(data[:LINE], parse)), kinds[0])
    waiting: list[dict] = []
    over, arrived, upper, below = set(), set(), set(), {}
    unfinished = False
    for at, (text, line) in enumerate(lines, 1):
        last = at == len(lines)
        if len(line) + (not last) > LINE:
            raise ValueError("long line")
        if kinds[0] == "Q" and summary(text):
            break
        if not text:
            continue
        unfinished = last
        one = parse(text)
        if one is None:
            continue
        if one["action"] in kinds and kinds.index(one["action"]) < kinds.index(arrival):
            raise ValueError("arrivals of two kinds")
        if one["action"] == "A" and lowest:
            below.setdefault(one["upper"], set()).add(one["device"])
        if one["action"] == arrival:
            arrived.add(one["device"])
        upper |= {
            device
            for device in arrived
            for low in reached(device, below) & arrived
            if device not in reached(low, below)
        }
        # numbers are validated even if the device is left out
        byte_range = moved(one) if one["action"] in (arrival, "C") else None
        if byte_range is not None and one["device"] not in upper:
            one.update(byte_range, took=None)
            if one["action"] == arrival:
                waiting.append(one)
            else:
                over.add(one["device"])
                complete(one, waiting)
    waiting = [w for w in waiting if w["device"] not in upper]
    ended = over - upper
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
        for w in waiting
        if w["took"] is not None or not ended
    ], unfinished


def seen(head: bytes, parse) -> set[str]:
    """The actions of the whole lines of the first bytes."""
    lines = head.split(b"\n")
    found = set()
    for line in lines[:-1] if len(head) == LINE else lines:
        text = line.decode("latin-1").strip(" \t\r")
        if parse is event and summary(text):
            break
        try:
            one = parse(text) if text else None
        except ValueError:
            continue
        if one is not None:
            found.add(one["action"])
    return found


def reached(device: str, below: dict) -> set[str]:
    found = set(below.get(device, ()))
    while further := set().union(*(below.get(one, ()) for one in found)) - found:
        found |= further
    return found


def complete(one: dict, waiting: list[dict]):
    mine = [w for w in waiting if w["took"] is None and (w["device"], w["read"]) == (one["device"], one["read"])]
    same = [w for w in mine if (w["start"], w["stop"]) == (one["start"], one["stop"])][:1]
    for w in same or [w for w in mine if one["start"] < w["stop"] <= one["stop"]]:
        w["took"] = one["clock"] - w["clock"]
        if w["took"] < 0:
            raise ValueError("completed before it was queued")


def moved(one: dict) -> dict | None:
    """The location, time and direction of a read or write, or None if it is neither."""
    kind = one["kind"]
    if kind[:1] == "Z" or "D" in kind or not ("R" in kind or "W" in kind) or not one["sectors"].strip("0"):
        return None
    start, sectors = whole(one["sector"], 0, FAR // 512), whole(one["sectors"], 1, LARGE // 512)
    clock = whole(one["seconds"], 0, 2**63 // 10**9 - 1) * 10**9 + int((one["fraction"] + "000")[:9])
    read = "R" in kind
    return dict(clock=clock, start=start, stop=start + sectors, read=read, hidden=not read and "S" not in kind)


def is_device(text: str) -> bool:
    numbers = text.split(",")
    return len(numbers) == 2 and all(digits(part) and len(part) <= 10 for part in numbers)


def is_kind(text: str) -> bool:
    return text.isascii() and text.isalpha() and text.isupper()


def event(text: str) -> dict | None:
    device, rest = taken(text)
    cpu, rest = taken(rest)
    sequence, rest = taken(rest)
    stamp, rest = taken(rest)
    process, rest = taken(rest)
    action, rest = taken(rest)
    seconds, _, fraction = stamp.partition(".")
    if not is_device(device):
        raise ValueError("device")
    if not all(map(digits, (cpu, sequence, process, seconds, fraction))) or len(fraction) != 9:
        raise ValueError("numbers")
    if action != "m" and not (len(action) <= 2 and is_kind(action)):
        raise ValueError("action")
    kind, _, sectors_text = rest.partition(" ")
    parts = sectors_text.lstrip(" ").split(" ")
    one = dict(action=action, device=device, seconds=seconds, fraction=fraction)
    placed = is_kind(kind) and len(parts) >= 3 and digits(parts[0]) and parts[1] == "+" and digits(parts[2])
    if action == "A":
        if not placed or len(parts) < 6 or parts[3] != "<-" or not digits(parts[5]):
            return None
        upper = parts[4]
        return one | dict(upper=upper[1:-1]) if upper[:1] + upper[-1:] == "()" and is_device(upper[1:-1]) else None
    if action not in ("Q", "D", "C"):
        return None
    if not placed:
        return one | dict(kind=kind if is_kind(kind) else "", sectors="")
    return one | dict(kind=kind, sector=parts[0], sectors=parts[2])


def tracepoint(text: str) -> dict | None:
    """The event of a line of ftrace or perf; None for other events, and for lines that say something else."""
    words = text.split(" ")
    lost = text[:4] == "CPU:" and len(words) == 4 and digits(words[0][4:])
    if text[0] == "#" or (lost and words[1] == "[LOST" and digits(words[2]) and words[3] == "EVENTS]"):
        return None
    if text[:5] == "cpus=" and digits(text[5:]):
        return None
    if words[:1] + words[2:] == ["CPU", "is", "empty"] and digits(words[1]):
        return None
    at = next((at for at, one in enumerate(words[:-1]) if is_stamp(one)), None)
    if at is None:
        raise ValueError("no time")
    seconds, _, fraction = words[at][:-1].partition(".")
    rest = " ".join(words[at + 1 :]).lstrip(" ")
    period, _, further = rest.partition(" ")
    rest = (further.lstrip(" ") if digits(period) else rest).removeprefix("block:")
    action = next((a for n, a in (("issue", "D"), ("complete", "C")) if rest.startswith(f"block_rq_{n}:")), None)
    if action is None:
        return None
    device, rest = taken(rest.partition(":")[2].lstrip(" "))
    kind, rest = taken(rest)
    if digits(rest.partition(" ")[0]):
        _, rest = taken(rest)
    command, closing, rest = rest.partition(")")
    parts = rest.lstrip(" ").split(" ")
    if not is_device(device) or not is_kind(kind) or command[:1] != "(" or not closing or rest[:1] != " ":
        raise ValueError("event")
    if len(parts) < 3 or not digits(parts[0]) or parts[1] != "+" or not digits(parts[2]):
        raise ValueError("location")
    return dict(
        action=action, device=device, seconds=seconds, fraction=fraction, kind=kind, sector=parts[0], sectors=parts[2]
    )


def is_stamp(text: str) -> bool:
    seconds, _, fraction = text.removesuffix(":").partition(".")
    return text[-1:] == ":" and digits(seconds) and digits(fraction) and len(fraction) in (6, 9)


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
