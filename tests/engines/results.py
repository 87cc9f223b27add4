"""What a run leaves but for its timings and for where it was carried out."""

from stopping import timeless


def results(folder):
    rows = timeless(folder)
    return [rows] + [(folder / name).read_bytes() for name in ("devices.csv", "model.safetensors")]
