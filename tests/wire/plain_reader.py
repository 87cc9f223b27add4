"""The format read bit by bit, in plain loops: a second reading to hold the first against."""

import struct
import zlib


class Bits:
    def __init__(self, data: bytes) -> None:
        self.text = "".join(f"{octet:08b}" for octet in data)
        self.at = 0

    def number(self, width: int) -> int:
        self.at += width
        return int("0" + self.text[self.at - width : self.at], 2)

    def unary(self) -> int:
        start, self.at = self.at, self.text.index("1", self.at) + 1
        return self.at - start - 1

    def pad(self) -> None:
        assert self.number(-self.at % 8) == 0


def read_gaps(form: int, parameter: int, bits: Bits, count: int) -> list[int]:
    if form == 3:
        tails = [bits.unary() for _ in range(count)]
        found = [0] * count
        for width in range(32):
            for i in (i for i in range(count) if tails[i] == width):
                found[i] = (1 << width) + bits.number(width) - 1
        return found
    low = [bits.number(parameter) for _ in range(count)]
    return low if form == 1 else [(bits.unary() << parameter) + x for x in low]


def read_values(bits: Bits, count: int, q: int, width: int, norm: float) -> list[float]:
    found = []
    s = 2 ** (q - 1) - 1
    for _ in range(count):
        code = bits.number(width)
        if width == 32:
            found.append(struct.unpack(">f", struct.pack(">I", code))[0])
        elif width == 64:
            found.append(struct.unpack(">d", struct.pack(">Q", code))[0])
        else:
            sign, level = divmod(code, 2 ** (width - 1))
            found.append((-norm if sign else norm) * (level / s))
    bits.pad()
    return found


def read(data: bytes) -> tuple[int, list[int], list[float], list[float]]:
    """dim, indices, local values and common values, as doubles."""
    body, (checksum,) = data[:-4], struct.unpack(">I", data[-4:])
    assert zlib.crc32(body) == checksum
    assert body[:4] == b"AFW\x01"
    dim, form, parameter, *parts = struct.unpack(">IBBIBBdIBBd", body[4:38])
    bits, count = Bits(body[38:]), parts[0]
    if form == 0:
        index = [i for i in range(dim) if bits.number(1)]
    else:
        gaps = read_gaps(form, parameter, bits, count)
        index, last = [], -1
        for gap in gaps:
            last += gap + 1
            index.append(last)
    bits.pad()
    local, common = read_values(bits, *parts[:4]), read_values(bits, *parts[4:])
    assert bits.at == len(bits.text)
    return dim, index, local, common
