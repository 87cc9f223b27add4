"""What one device sends in a round, as bytes: measured, checksummed, strictly read.

A message holds a local part (sorted indices and a value for each) and a common part (values only:
both sides know where they belong). Values are quantised with q bits, or raw IEEE floats.

Format, version 1. Every number has its most significant bit first.

| octets | what |
|---|---|
| 3, 1 | `AFW`, version |
| 4 | d, the model dimension, 1 … 2³¹ − 1 |
| 1, 1 | how indices are written, and its parameter |
| 4, 1, 1, 8 | local part: count L, bits q, width w, norm (binary64) |
| 4, 1, 1, 8 | common part: count K, bits q, width w, norm (binary64) |
| rest | indices, local values, common values, each padded with zero bits to whole octets |
| 4 | CRC-32 of all that came before |

Quantised values (q = 2 … 24, s = 2^(q−1) − 1) are a sign bit and a level 0 … s; the value is
norm · sign · (level / s) in binary64, rounded to the model's precision. That is how the quantiser
computes it, so the receiver holds the sender's values bit for bit, negative zeros too. Since the
norm of a long vector is far above its entries, the highest levels seldom occur: a value takes
w ≤ q bits, the sign and as many bits as the largest level present needs. Raw values (q = w = 32 or
64) are binary32 or binary64 numbers, all finite, and their norm is 0.

Indices are written in the form that takes the fewest bits for this very mask (ties: the first):

| form | parameter | bits |
|---|---|---|
| 0 bitmap | 0 | one for each of the d coordinates |
| 1 fixed | width w | w for each gap, w as the largest gap needs |
| 2 Rice | k | the low k bits of every gap, then gap >> k in unary: zeros ended by a one |
| 3 Elias gamma | 0 | bit lengths of all gap + 1 in unary, then their bits below the leading one |

A gap counts the coordinates skipped since the index before. In the gamma form the bits come in
groups of equal length, shortest first, and in index order within a group. Uniformly drawn masks
of up to half of the coordinates take about 3 % more than their entropy at most; no mask takes more
than 8 bits above L·log2(d), the paper's charge.

A mask can travel alone, as a server sends one that nodes cannot derive: `AFM` and version (3, 1
octets), d (4), form and parameter (1, 1), count K (4), the indices as above, and a CRC-32 (4).

Reading is strict: the length follows from the header, the caller's `dim` bounds every count before
anything is allocated, and whatever the writer would not have written is a `WireError`. So there is
one encoding for each message, and one message for each encoding.
"""

from airfeel.wire.codec import Size, decode, encode, size_bits
from airfeel.wire.mask import decode_mask, encode_mask
from airfeel.wire.message import Message, Values, WireError, from_quantised, from_raw

__all__ = [
    "Message",
    "Size",
    "Values",
    "WireError",
    "decode",
    "decode_mask",
    "encode",
    "encode_mask",
    "from_quantised",
    "from_raw",
    "size_bits",
]
