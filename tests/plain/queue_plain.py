"""Energy queues in plain loops: the best set of devices by trying them all, and what they owe."""

from itertools import combinations


def best_set(price, able, weight, a=1.0, b=1.0):
    """The set of least V (a/k + b/k^2) + sum of prices, by brute force: its cost."""
    return min(cost for cost, _ in all_sets(price, able, weight, a, b))


def all_sets(price, able, weight, a=1.0, b=1.0):
    """What each set that is not empty costs, and the set."""
    for k in range(1, len(able) + 1):
        for chosen in combinations(able, k):
            yield weight * (a / k + b / k**2) + sum(price[n] for n in chosen), chosen


def first_best(price, able, weight, a=1.0, b=1.0):
    """The best set; of equally good ones the largest, then that of the lowest indices."""
    return min(
        all_sets(price, able, weight, a, b), key=lambda tried: (tried[0], -len(tried[1]), tried[1])
    )[1]


def cost_of(chosen, price, weight, a=1.0, b=1.0):
    """What a set costs."""
    k = len(chosen)
    return weight * (a / k + b / k**2) + sum(price[n] for n in chosen) if k else float("inf")


def foreseen(norm2, gain2, scalar):
    """sigma^2 (|analog part|^2 / M) sum 1/|h|^2 of each, by its last norm or the mean of all."""
    known = [x for x in norm2 if x == x]
    energy = []
    for n, row in enumerate(gain2):
        own = norm2[n] if norm2[n] == norm2[n] else sum(known) / len(known)
        dead = any(g == 0.0 for g in row)
        energy.append(
            float("inf") if dead else scalar**2 * own / len(row) * sum(1 / g for g in row)
        )
    return energy


def inverted(symbols, gain2, scalar):
    """sigma^2 sum over segments of |segment|^2/|h|^2; longer segments come first."""
    short, rest = divmod(len(symbols), len(gain2))
    spent, at = 0.0, 0
    for m, g in enumerate(gain2):
        size = short + (m < rest)
        spent += scalar**2 * sum(v * v for v in symbols[at : at + size]) / g
        at += size
    return spent


def owed(queue, energy, allowance):
    """q + E/A - 1, at least 0."""
    return [max(q + e / a - 1.0, 0.0) for q, e, a in zip(queue, energy, allowance, strict=True)]
