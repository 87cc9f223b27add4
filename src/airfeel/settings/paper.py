"""The paper's curves (Sun et al. 2022, section V) and some beside them, as changes of presets."""

_THIN = {"local_sparsity": 0.0001}
_SPARSE = {
    "global_sparsity": 0.01,
    "local_sparsity": 0.0025,
}  # a second reading of what the paper does not say

# The preset of each curve, and what of its [scheme] is different. Presets have (0.2, 0.05), q = 16.
CURVES: dict[str, tuple[str, dict[str, float]]] = {
    "iid-tcs-h": ("paper-iid-tcs-h", {}),
    "iid-tcs-h-wide": ("paper-iid-tcs-h", {"global_sparsity": 0.5}),
    "iid-tcs-h-thin": ("paper-iid-tcs-h", _THIN),
    "iid-tcs-d": ("paper-iid-tcs-d", {}),
    "iid-top-k": ("paper-iid-top-k", {}),
    "iid-fedavg": ("paper-iid-fedavg", {}),
    # Lemma 1 needs K[l] < 2^(2q−2): 12945 < 16384 for q = 8, 26 < 64 for q = 4 and the thin mask.
    # 12945 is not below 64: no bound speaks of iid-tcs-h-q4.
    "iid-tcs-h-q8": ("paper-iid-tcs-h", {"bits": 8}),
    "iid-tcs-h-q4": ("paper-iid-tcs-h", {"bits": 4}),
    "iid-tcs-h-thin-q4": ("paper-iid-tcs-h", _THIN | {"bits": 4}),
    "noniid-tcs-h": ("paper-noniid-tcs-h", {}),
    "noniid-tcs-d": ("paper-noniid-tcs-d", {}),
    "noniid-top-k": ("paper-noniid-top-k", {}),
    "noniid-fedavg": ("paper-noniid-fedavg", {}),
    "noniid-sparse-tcs-h": ("paper-noniid-tcs-h", _SPARSE),
    "noniid-sparse-tcs-d": ("paper-noniid-tcs-d", _SPARSE),
    "noniid-sparse-top-k": ("paper-noniid-top-k", _SPARSE),
}
