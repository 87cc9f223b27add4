"""One round of TCS-H with d = 8 parameters, N = 2 devices and M = 2 sub-channels, by hand.

    python examples/one_round.py

Every number of the round is printed, first on a good sky, then with one weak sub-channel. The
arithmetic is that of tcs_h_plain.py; a test plays the same round with the library.
"""

import math

import numpy as np
from tcs_h_plain import allocate, analog_energy, quantize, top_k

D, N, M = 8, 2, 2
K_GLOBAL, K_LOCAL, BITS = 4, 2, 4  # entries by air, own entries, bits of a digital value
NOISE, POWER, SCALAR = 0.01, 1.0, 0.5  # sigma_0^2 [W], P_n [W], sigma_t
LAST = np.array([0.9, -0.1, 0.0, -0.7, 0.2, 0.5, 0.1, -0.6])  # the last global update
DELTA = np.array(  # what local training found
    [[0.8, 0.1, -0.2, -0.6, 0.1, 0.6, 0.9, -0.4], [1.0, 0.0, 0.3, -0.8, -0.7, 0.4, 0.1, -0.6]]
)
MEMORY = np.array(  # what was left from rounds before
    [[0.0, 0.3, 0.0, 0.0, 0.1, 0.0, 0.2, 0.0], [0.0, 0.0, 0.1, 0.0, -0.1, 0.0, 0.0, 0.0]]
)
GOOD = np.array([[1.0, 0.8], [0.5, 1.2]])  # |h| of each device on each sub-channel
WEAK = np.array([[1.0, 0.8], [0.1, 1.2]])
ROUNDING = np.array([[0.3, 0.8], [0.6, 0.1]])  # dice of the quantiser, one for each own entry
AIR = np.array([0.4, -1.1, 0.2, 0.7])  # dice of the noise, standard normal, one for each symbol


def play(gain):
    """All values of the round, by name, in the order in which they come about."""
    x = DELTA + MEMORY
    mask = top_k(LAST, K_GLOBAL)
    common = x[:, mask]
    slots_air = math.ceil(K_GLOBAL / M)
    needed = np.array([analog_energy(common[n], gain[n], SCALAR) for n in range(N)])
    allowed = POWER * slots_air
    active = np.flatnonzero(needed <= allowed)

    outside = np.setdiff1d(np.arange(D), mask)
    own = np.array([outside[top_k(x[n, outside], K_LOCAL)] for n in range(N)])
    value = np.array([quantize(x[n, own[n]], BITS, ROUNDING[n]) for n in range(N)])
    bits = K_LOCAL * (math.log2(D) + BITS)
    owner, power, rate = allocate(np.full(len(active), POWER), gain[active] ** 2, NOISE)
    slots = np.array([math.ceil(bits / r) for r in rate])

    sum_ = SCALAR * common[active].sum(axis=0)  # h * (sigma / h) * x, added up by the channel
    received = sum_ + math.sqrt(NOISE) * AIR
    update = np.zeros(D)
    update[mask] = received / (SCALAR * len(active))
    memory = MEMORY.copy()  # a silent device keeps the one that it had
    for n in active:
        update[own[n]] += value[n] / len(active)
        memory[n] = x[n]
        memory[n, mask] -= common[n]
        memory[n, own[n]] -= value[n]
    digital = slots.max(initial=0)
    energy = np.zeros(N)
    energy[active] = needed[active] + slots * power.sum(axis=1)
    return {
        "x": x, "mask": mask, "common": common, "slots_air": slots_air, "needed": needed,
        "allowed": allowed, "active": active, "own": own, "value": value, "bits": bits,
        "owner": active[owner], "power": power, "rate": rate, "slots": slots, "sum": sum_,
        "received": received, "update": update, "memory": memory, "digital": digital,
        "blocks": M * (slots_air + digital), "energy": energy,
    }  # fmt: skip


SAID = {
    "x": "x = delta + memory: what each device would like to say",
    "mask": "the mask: the 4 largest entries of the last update, known to all",
    "common": "x on the mask, to be sent by air: two symbols on each sub-channel",
    "slots_air": "slots by air: 4 symbols on 2 sub-channels",
    "needed": "energy for it [W slots]: the sum of (sigma x / h)^2",
    "allowed": "allowed: P_n times the slots by air",
    "active": "the devices that can afford it, and speak",
    "own": "the 2 largest entries of x outside of the mask, of each device",
    "value": "their values, quantised to 4 bits: a sign and one of 7 levels of their norm",
    "bits": "bits of each device: 2 entries, log2(8) for the place and 4 for the value",
    "owner": "the owner of each sub-channel in the digital part",
    "power": "power of those who speak on each sub-channel [W]",
    "rate": "rate of those who speak [bits per slot]",
    "slots": "digital slots of those who speak: bits / rate, rounded up",
    "sum": "what the channel adds up: sigma times the sum of x on the mask",
    "received": "what the base station receives: the sum and noise",
    "update": "the update: the mean of what arrived",
    "memory": "what each device keeps for later",
    "digital": "digital slots of the round: the slowest device",
    "blocks": "resource blocks: M times all slots",
    "energy": "energy that was spent [W slots]",
}


def main():
    """Print the round twice."""
    for name, gain in {"a good sky": GOOD, "device 1 is weak on sub-channel 0": WEAK}.items():
        print(f"--- {name}: |h| =", *np.array2string(gain).split("\n"))
        for key, value in play(gain).items():
            text = np.array2string(np.asarray(value), precision=4, suppress_small=True)
            print(f"{SAID[key]}\n    {key} =", text.replace("\n", f"\n{' ' * (len(key) + 7)}"))
        print()


if __name__ == "__main__":
    main()
