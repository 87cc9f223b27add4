"""The settings of an experiment as a whole, and what must fit together in them."""

from pydantic import BaseModel, model_validator

from airfeel.bits import check_bits
from airfeel.catalogue import name_of
from airfeel.catalogues import FADINGS
from airfeel.errors import BadInput
from airfeel.settings.fields import scheduling
from airfeel.settings.learning_sections import Model, Training
from airfeel.settings.radio_sections import CellSection, Csi, Hardware, LinkSection, Sync
from airfeel.settings.sections import Budget, Data, Radio, RunOptions, SchemeChoice, Section

SQUARES = 1e-150, 1e150  # numbers of which the square is a double
_HALF = 0.5  # of the devices, at random: NCAirFL's
_HEARD = 0.65  # the share of devices that the paper's TCS-H hears, which the digital schemes invite


class Experiment(Section):
    """Everything that decides a run."""

    data: Data = Data()
    model: Model = Model()
    training: Training = Training()
    scheme: SchemeChoice = SchemeChoice()
    radio: Radio = Radio()
    budget: Budget = Budget()
    run: RunOptions = RunOptions()
    csi: Csi = Csi()
    sync: Sync = Sync()
    hardware: Hardware = Hardware()
    link: LinkSection = LinkSection()
    cell: CellSection = CellSection()

    @property
    def slots(self) -> float:
        """C; infinite where the run has no budget."""
        if self.budget.resource_blocks is not None:
            return self.budget.resource_blocks // self.radio.subchannels
        return self.budget.slots if self.budget.slots is not None else float("inf")

    @property
    def scheduled(self) -> int:
        """Devices that a digital scheme invites in a round."""
        share = _HALF if self.scheme.name in ("ncairfl", "reed") else _HEARD
        return self.scheme.scheduled or max(round(share * self.training.devices), 1)

    @model_validator(mode="after")
    def _consistent(self) -> "Experiment":
        scheduling(self.scheme.scheduler, self.scheme.invite, self.scheme.schedule)
        _check_bits(self.scheme.bits)
        n, rounds = self.training.devices, self.training.rounds
        for key in ("power", "alpha", "mean_gain"):
            _length(f"radio.{key}", getattr(self.radio, key), n, "training.devices")
        if rounds is not None:
            _length(
                "training.learning_rate", self.training.learning_rate, rounds, "training.rounds"
            )
            _length("radio.power_scalar", self.radio.power_scalar, rounds, "training.rounds")
        _squares("radio.power_scalar", self.radio.power_scalar)
        if self.scheme.scheduled is not None and self.scheme.scheduled > n:
            wanted = self.scheme.scheduled
            raise BadInput(
                f"scheme.scheduled = {wanted}: must be at most training.devices = {n}; set both"
            )
        if self.scheme.global_sparsity + self.scheme.local_sparsity == 0:
            raise BadInput(
                "scheme.local_sparsity = 0: nothing is sent with global_sparsity = 0 too"
            )
        self._limits()
        self._radio()
        return self

    def _radio(self) -> None:
        """What must fit together of a real radio."""
        link, slot = self.link, self.radio.symbol_seconds
        if link.subcarriers > 1 and link.subcarriers * slot <= link.cp_seconds:
            raise BadInput(
                f"link.cp_seconds = {link.cp_seconds}: must be below link.subcarriers = "
                f"{link.subcarriers} times radio.symbol_seconds = {slot}"
            )
        if link.subcarriers > 1 and 2.0 * self.sync.timing > link.cp_seconds:
            raise BadInput(
                f"sync.timing = {self.sync.timing}: twice of it must be within link.cp_seconds = "
                f"{link.cp_seconds}; beyond the guard only `airfeel waveform` is true"
            )
        if self.cell.model != "none" and self.radio.mean_gain != 1.0:
            raise BadInput(
                f"radio.mean_gain = {self.radio.mean_gain}: follows from cell.model = "
                f"{self.cell.model!r}; give one of them"
            )
        if self.cell.min_distance >= self.cell.radius:
            raise BadInput(
                f"cell.min_distance = {self.cell.min_distance}: must be below cell.radius = "
                f"{self.cell.radius}"
            )

    def _limits(self) -> None:
        budget = self.budget
        if budget.slots is not None and budget.resource_blocks is not None:
            raise BadInput("budget.resource_blocks: give this or budget.slots, not both")
        if self.slots < 1:
            raise BadInput(
                f"budget.resource_blocks = {budget.resource_blocks}: must be at least one slot of "
                f"{self.radio.subchannels} sub-channels"
            )
        if self.training.rounds is None and self.slots == float("inf"):
            raise BadInput("training.rounds: without it a budget (budget.slots) is needed")
        fading, trace = self.radio.fading, self.radio.trace
        named = isinstance(fading, dict) and "file" in fading  # the part's own setting
        wanted = name_of(fading) == "trace" and not named
        if wanted != (trace is not None) and name_of(fading) in FADINGS:
            raise BadInput('radio.trace: give a file exactly when radio.fading = "trace"')


SECTIONS: dict[str, type[BaseModel]] = {
    name: field.annotation
    for name, field in Experiment.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
}


def _check_bits(bits: int) -> None:
    """Name the setting where the quantiser names its argument."""
    try:
        check_bits(bits)
    except BadInput as error:
        raise BadInput(f"scheme.{error}") from None


def _squares(key: str, value: object) -> None:
    """Refuse numbers whose square a double cannot hold."""
    for number in value if isinstance(value, tuple) else (value,):
        if isinstance(number, float) and not SQUARES[0] <= number <= SQUARES[1]:
            raise BadInput(f"{key} = {number!r}: must be between {SQUARES[0]} and {SQUARES[1]}")


def _length(key: str, value: object, wanted: int, of: str) -> None:
    if isinstance(value, tuple) and len(value) != wanted:
        raise BadInput(
            f"{key} has {len(value)} values: must be one, or one for each of {of} = {wanted}"
        )
