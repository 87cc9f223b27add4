"""Energy queues in plain loops: the best set of devices by trying them all, and what they owe."""

from itertools import combinations


def best_set(price, able, weight, a=1.0, b=1.0):
    """The set of least V (a/k + b/k^2) + sum of prices, by brute force: its cost."""
    best = float("inf")
    for k in range(1, len(able) + 1):
        for chosen in combinations(able, k):
            cost = weight * (a / k + b / k**2) + sum(price[n] for n in chosen)
            best = min(best, cost)
    return best


def cost_of(chosen, price, weight, a=1.0, b=1.0):
    """What a set costs."""
    k = len(chosen)
    return weight * (a / k + b / k**2) + sum(price[n] for n in chosen) if k else float("inf")


def owed(queue, energy, allowance):
    """q + E/A - 1, at least 0."""
    return [max(q + e / a - 1.0, 0.0) for q, e, a in zip(queue, energy, allowance, strict=True)]
