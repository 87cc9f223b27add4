"""What components keep from round to round: each one's arrays under its path in the scheme."""

from collections.abc import Iterator, Mapping

import numpy as np
from torch import Tensor

from airfeel.errors import BadInput

Arrays = Mapping[str, np.ndarray | Tensor]  # of one component, by its own names


class ComponentStates(Mapping[str, np.ndarray | Tensor]):
    """The arrays of all components by path and name: `invite/heard`, `plan.screen/norm`.

    A name without a path is looked up, too: first among the components at and below `root`, then
    among all of them. Where several have it, the lookup is refused: `Turn.state_of` tells them
    apart.

    components: by path, which is the names of the fields from the scheme down to the component.
    arrays: of each of them. root: path of the component that the round has called; "" for none.

    >>> three, four = np.array(3), np.array(4)
    >>> arrays = {"invite": {"q": three}, "plan": {"q": four}}
    >>> states = ComponentStates({"invite": 1, "plan": 2}, arrays)
    >>> dict(states), states.of(2)["q"], states.within("invite")["q"]
    ({'invite/q': array(3), 'plan/q': array(4)}, array(4), array(3))
    """

    def __init__(
        self, components: Mapping[str, object], arrays: Mapping[str, Arrays], root: str = ""
    ) -> None:
        self.components, self._arrays, self._root = dict(components), dict(arrays), root
        self._publisher: dict[str, str] = {}
        for path, component in self.components.items():
            for name in getattr(component, "publishes", ()):
                if name in self._arrays[path]:
                    other = self._publisher.setdefault(name, path)
                    if other != path:
                        both = f"{other} and {path} both publish {name!r}"
                        raise BadInput(f"component state: {both}; only one component may")

    def of(self, component: object) -> Arrays:
        """Return what a component of the scheme keeps, by its own names."""
        for path, each in self.components.items():
            if each is component:
                return self._arrays[path]
        kind = type(component).__name__
        raise BadInput(f"component state: {kind} is not a component of this scheme with a state")

    def published(self, name: str) -> np.ndarray | Tensor | None:
        """Return an array that its component lists in `publishes`; None where none does."""
        path = self._publisher.get(name)
        return None if path is None else self._arrays[path][name]

    def within(self, path: str) -> "ComponentStates":
        """Return the same arrays, where those at and below a path are looked up first."""
        return ComponentStates(self.components, self._arrays, path)

    def __getitem__(self, key: str) -> np.ndarray | Tensor:
        path, slash, name = key.partition("/")
        if slash and name in self._arrays.get(path, {}):
            return self._arrays[path][name]
        paths = [path for path, arrays in self._arrays.items() if key in arrays]
        below = [path for path in paths if f"{path}.".startswith(f"{self._root}.")]
        found = below or paths
        if len(found) > 1:
            several = f"{', '.join(found[:-1])} and {found[-1]} keep {key!r}"
            raise BadInput(f"component state: {several}; read it by turn.state_of(self)[{key!r}]")
        if not found:
            raise KeyError(key)
        return self._arrays[found[0]][key]

    def __contains__(self, key: object) -> bool:
        return any(key in (name, f"{path}/{name}") for path, name in self._places())

    def __iter__(self) -> Iterator[str]:
        return (f"{path}/{name}" for path, name in self._places())

    def __len__(self) -> int:
        return len(list(self._places()))

    def _places(self) -> Iterator[tuple[str, str]]:
        return ((path, name) for path, arrays in self._arrays.items() for name in arrays)
