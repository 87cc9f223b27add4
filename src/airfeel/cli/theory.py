"""airfeel theory."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from airfeel.errors import BadInput, reason
from airfeel.theory import Bound, contraction, convergence_bound, smallest_a

_ROOM = 2.0  # times the least a, where none is given: away from the pole of A1


@dataclass(frozen=True)
class _Constants:
    """All that the bound depends on."""

    k_global: int
    k_local: int
    bits: int
    dim: int
    devices: int
    local_steps: int
    batch_size: int
    noise: float
    smoothness: float
    convexity: float
    gradient2: float
    distance2: float
    rounds: int
    a: float | None

    def work_out(self) -> tuple[float, float, Bound]:
        """γ, a and the bound; BadInput where a double cannot hold a number on the way."""
        try:
            return self._work_out()
        except ArithmeticError as error:
            raise BadInput(f"the bound cannot be computed: {reason(error)}") from error

    def _work_out(self) -> tuple[float, float, Bound]:
        L, mu, H = self.smoothness, self.convexity, self.local_steps
        gamma = contraction(self.k_global, self.k_local, self.bits, self.dim)
        least = smallest_a(gamma=gamma, local_steps=H, smoothness=L, convexity=mu)
        a = _ROOM * least if self.a is None else self.a
        bound = convergence_bound(
            smoothness=L,
            convexity=mu,
            local_steps=H,
            batch_size=self.batch_size,
            devices=self.devices,
            gradient2=self.gradient2,
            noise=self.noise,
            k_global=self.k_global,
            gamma=gamma,
            a=a,
            rounds=self.rounds,
            distance2=self.distance2,
        )
        return gamma, a, bound


def theory(
    k_global: Annotated[int, typer.Option(help=r"K\[g], values in the global mask.")] = 51780,
    k_local: Annotated[int, typer.Option(help=r"K\[l], values in a local mask.")] = 12945,
    bits: Annotated[int, typer.Option(help="q: 2 to 24, or 32 for unquantised.")] = 16,
    dim: Annotated[int, typer.Option(help="d, parameters of the model.")] = 258898,
    devices: Annotated[int, typer.Option(help="N, all heard in every round.")] = 20,
    local_steps: Annotated[int, typer.Option(help="H, SGD steps of a device in a round.")] = 10,
    batch_size: Annotated[int, typer.Option(help="B.")] = 64,
    noise: Annotated[float, typer.Option(help="σ0², variance of a received element [W].")] = 1e-6,
    smoothness: Annotated[float, typer.Option(help="L of every local loss.")] = 10.0,
    convexity: Annotated[float, typer.Option(help="μ of every local loss.")] = 1.0,
    gradient2: Annotated[float, typer.Option(help="G², bounds a sample's ‖gradient‖².")] = 1.0,
    distance2: Annotated[float, typer.Option(help="‖w_0 − w*‖².")] = 1.0,
    rounds: Annotated[int, typer.Option(help="T.")] = 3000,
    a: Annotated[
        float | None,
        typer.Option(help="Offset of the schedules; twice the least that is allowed if left out."),
    ] = None,
) -> None:
    """Print Lemma 1's γ and Theorem 1's bound, and how they move with K, q, σ0 and N.

    The theorem is about strongly convex losses, with every device heard in every round. Sizes left
    out are the paper's; L, μ, G² and ‖w_0 − w*‖² are your problem's.
    """
    given = _Constants(
        k_global=k_global,
        k_local=k_local,
        bits=bits,
        dim=dim,
        devices=devices,
        local_steps=local_steps,
        batch_size=batch_size,
        noise=noise,
        smoothness=smoothness,
        convexity=convexity,
        gradient2=gradient2,
        distance2=distance2,
        rounds=rounds,
        a=a,
    )
    gamma, used, bound = given.work_out()
    console = Console(highlight=False)
    console.print(f"γ = {gamma:.6g} (Lemma 1), a = {used:.6g}, T = {rounds}")
    console.print(f"F(w̄_T) − F* ≤ {bound.total:.4g} (Theorem 1), the sum of\n")
    console.print(_terms(bound))
    console.print()
    console.print(_moves(given))


def _terms(bound: Bound) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right")
    for value, text in (
        (bound.initial, "initial distance: La³‖w_0 − w*‖²/(4S_T)"),
        (bound.noise, "channel noise: LT²V1/(μHS_T)"),
        (bound.variance, "gradient variance: 8LT(T + 2a + 1)V2/(μ²H²S_T)"),
        (bound.compression, "compression and local drift: 64LTV3/(μ³H³S_T)"),
    ):
        table.add_row(f"{value:.4g}", text)
    return table


def _moves(given: _Constants) -> Table:
    """γ and the terms as one constant at a time changes; why not, where the theorem is silent."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("", no_wrap=True)
    for name in ("γ", "a", "initial", "noise", "variance", "compression", "bound"):
        table.add_column(name, justify="right", no_wrap=True)
    refused = []
    for change, constants in _changes(given):
        label = escape(change)
        try:
            gamma, a, b = constants.work_out()
        except BadInput as error:
            table.add_row(label, *["–"] * 7)
            refused.append(escape(f"{change}: {error}"))
            continue
        numbers = (gamma, a, b.initial, b.noise, b.variance, b.compression, b.total)
        table.add_row(label, *(f"{value:.3g}" for value in numbers))
    table.caption = "\n".join(refused) or None
    table.caption_justify = "left"
    return table


def _changes(given: _Constants) -> Iterator[tuple[str, _Constants]]:
    """The constants as given, and each of K[g], K[l], q, σ0² and N below and above."""
    yield "as given", given
    for letter, name in (("K[g]", "k_global"), ("K[l]", "k_local")):
        now = getattr(given, name)
        for value in sorted({now // 2, min(2 * now, _most(given, name))} - {now}):
            yield f"{letter} {value}", replace(given, **{name: value})
    for bits in sorted({4, 8, 16, 32} - {given.bits}):
        yield f"q {bits}", replace(given, bits=bits)
    for factor in (0.01, 100.0):
        if given.noise > 0.0:
            yield f"σ0² {factor * given.noise:.3g}", replace(given, noise=factor * given.noise)
    for devices in sorted({max(given.devices // 2, 1), 2 * given.devices} - {given.devices}):
        yield f"N {devices}", replace(given, devices=devices)


def _most(given: _Constants, name: str) -> int:
    """The most values that one mask can hold beside the other."""
    return given.dim - (given.k_local if name == "k_global" else given.k_global)
