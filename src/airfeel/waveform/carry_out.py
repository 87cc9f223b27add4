"""All experiments in order."""

from collections.abc import Callable, Sequence

from airfeel.types import BadInput, Dice
from airfeel.waveform import claims, coded, limits
from airfeel.waveform.scene import Finding

EXPERIMENTS: dict[str, Callable[[Dice], Finding]] = {
    "W1": claims.aligned,
    "W2": claims.noisy,
    "W3": claims.timing,
    "W4": claims.beyond,
    "W5": claims.drifting,
    "W6": limits.selective,
    "W7": limits.clipped,
    "W8": coded.coded,
}


def chosen(names: Sequence[str] | None) -> list[str]:
    """The experiments of these names; all without names."""
    for name in names or ():
        if name not in EXPERIMENTS:
            raise BadInput(f"--only {name}: must be one of {', '.join(EXPERIMENTS)}")
    return list(names or EXPERIMENTS)


def carry_out(
    streams: Dice, names: Sequence[str], told: Callable[[Finding], None] = lambda _: None
) -> list[Finding]:
    """Carry experiments out, and tell of each as it is found."""
    findings = []
    for name in names:
        findings.append(EXPERIMENTS[name](streams))
        told(findings[-1])
    return findings
