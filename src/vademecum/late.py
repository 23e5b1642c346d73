"""Classes and patterns that cost next to nothing until they are used.

Idea: a command or a hook is a process of its own that uses a few of the many types and patterns of the modules it
loads; the standard library compiles six functions for each frozen dataclass (0.8 ms) and every pattern at import. Here
`dataclass` compiles only `__init__`, and that for the first object; `pattern` compiles for the first text. Invariant:
what is made equals what `dataclasses` and `re` make: its `fields`, `replace` and `asdict` take these classes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, AnyStr, NamedTuple, TypeVar, cast, dataclass_transform

T = TypeVar("T")

_MISSING: Any = object()


class _Spec(NamedTuple):
    """One field: its annotation, and how it is filled, compared and printed."""

    kind: Any
    default: Any = _MISSING
    factory: Any = _MISSING
    compare: bool = True
    repr: bool = True


if TYPE_CHECKING:
    from dataclasses import field
else:

    def field(*, default=_MISSING, default_factory=_MISSING, compare=True, repr=True):  # noqa: A002
        """As `dataclasses.field`, for a class of `dataclass` below."""
        return _Spec(None, default, default_factory, compare, repr)


@dataclass_transform(field_specifiers=(field,))
def dataclass(*, frozen: bool = False, slots: bool = False) -> Callable[[type[T]], type[T]]:
    """As `dataclasses.dataclass`. A base, if it is one, has to be of this kind too.

    Raises ValueError for a default that can be changed, TypeError for a field without a default behind one with.
    """
    return lambda cls: _finished(cls, frozen, slots)


def replace(one: T, /, **changes: Any) -> T:
    """As `dataclasses.replace`, without what that makes for its first call on a class."""
    specs: dict[str, _Spec] | None = getattr(type(one), "__late_fields__", None)
    if specs is None:
        import dataclasses

        return cast("T", dataclasses.replace(cast("Any", one), **changes))
    return type(one)(**({name: getattr(one, name) for name in specs} | changes))


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`, when it is first asked for something; an error in `text` is raised only then."""
    return cast("re.Pattern[AnyStr]", _Pattern(text, flags))


class _Pattern:
    def __init__(self, text: Any, flags: int) -> None:
        self._source: tuple[Any, int] = text, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._source), name)  # `re` remembers what it compiled
        setattr(self, name, found)  # from now on a plain attribute
        return found


class _Fields:
    """`__dataclass_fields__`, made when something of the standard library asks."""

    def __init__(self, specs: dict[str, _Spec]) -> None:
        self._specs = specs
        self._made: dict[str, Any] | None = None

    def __get__(self, instance: object, owner: type) -> dict[str, Any]:
        if self._made is None:
            import dataclasses

            def standard(spec: _Spec) -> Any:
                given = {"default": spec.default, "default_factory": spec.factory}
                given = {key: value for key, value in given.items() if value is not _MISSING}
                return dataclasses.field(**given, compare=spec.compare, repr=spec.repr)

            rows = [(name, spec.kind, standard(spec)) for name, spec in self._specs.items()]
            self._made = cast("Any", dataclasses.make_dataclass("Fields", rows)).__dataclass_fields__
        return cast("dict[str, Any]", self._made)


def _finished(cls: type[T], frozen: bool, slots: bool) -> type[T]:
    own = _own(cls)
    specs: dict[str, _Spec] = {}
    for base in reversed(cls.__mro__[1:]):
        specs |= base.__dict__.get("__late_fields__", {})
    inherited = set(specs)
    specs |= own
    _check(cls, specs)
    made: dict[str, Any] = dict(cls.__dict__)
    for name, spec in own.items():
        made.pop(name, None)
        if spec.default is not _MISSING and not slots:
            made[name] = spec.default
    made |= {"__late_fields__": specs, "__dataclass_fields__": _Fields(specs)}
    made.setdefault("__match_args__", tuple(specs))
    methods = _compared(specs, frozen) | {"__repr__": _repr}
    if frozen:
        methods |= _frozen(specs)
        if slots:
            methods |= {"__getstate__": _getstate, "__setstate__": _setstate}
    explicit_hash = made.get("__hash__") is not None or ("__hash__" in made and "__eq__" not in made)
    for name, method in methods.items():
        if name not in made or (name == "__hash__" and not explicit_hash):
            made[name] = method
    if slots:
        made["__slots__"] = tuple(name for name in specs if name not in inherited)
        made.pop("__dict__", None)
        made.pop("__weakref__", None)
        done: Any = type(cls)(cls.__name__, cls.__bases__, made)
        done.__qualname__ = cls.__qualname__
    else:
        done = cls
        for name in own.keys() - made.keys():
            if name in cls.__dict__:
                delattr(cls, name)
        for name in made.keys() - {"__dict__", "__weakref__"}:
            if made[name] is not cls.__dict__.get(name):
                setattr(cls, name, made[name])
    if "__init__" not in made:
        done.__init__ = _first_init(done, specs, frozen)
    return done


def _own(cls: type) -> dict[str, _Spec]:
    found: dict[str, _Spec] = {}
    for name, kind in cls.__annotations__.items():
        if str(kind).startswith(("ClassVar", "typing.ClassVar")):
            continue
        default: Any = cls.__dict__.get(name, _MISSING)
        if isinstance(default, _Spec):
            found[name] = default._replace(kind=kind)
        else:
            found[name] = _Spec(kind, default)
    return found


def _check(cls: type, specs: dict[str, _Spec]) -> None:
    optional = ""
    for name, spec in specs.items():
        if spec.default is not _MISSING and spec.default.__class__.__hash__ is None:
            raise ValueError(f"{cls.__name__}.{name}: a default that can be changed; use a default_factory")
        if spec.default is not _MISSING or spec.factory is not _MISSING:
            optional = name
        elif optional:
            raise TypeError(f"{cls.__name__}.{name} has no default and stands behind {optional}, which has one")


def _first_init(cls: Any, specs: dict[str, _Spec], frozen: bool) -> Callable[..., None]:
    """An `__init__` that puts the compiled one in its place."""

    def __init__(self: object, *args: Any, **kwargs: Any) -> None:
        made = _init(cls, specs, frozen)
        cls.__init__ = made
        made(self, *args, **kwargs)

    return __init__


def _init(cls: Any, specs: dict[str, _Spec], frozen: bool) -> Callable[..., None]:
    space: dict[str, Any] = {"_late_set": object.__setattr__, "_late_missing": _MISSING, "__name__": cls.__module__}
    parameters, body = ["self"], list[str]()
    for name, spec in specs.items():
        value = name
        if spec.factory is not _MISSING:
            space[f"_late_{name}"] = spec.factory
            parameters.append(f"{name}=_late_missing")
            value = f"_late_{name}() if {name} is _late_missing else {name}"
        elif spec.default is not _MISSING:
            space[f"_late_{name}"] = spec.default
            parameters.append(f"{name}=_late_{name}")
        else:
            parameters.append(name)
        body.append(f" _late_set(self, {name!r}, {value})" if frozen else f" self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    exec("\n".join([f"def __init__({', '.join(parameters)}):", *(body or [" pass"])]), space)
    made = space["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {name: spec.kind for name, spec in specs.items()} | {"return": None}
    return made


def _compared(specs: dict[str, _Spec], frozen: bool) -> dict[str, Any]:
    names = [name for name, spec in specs.items() if spec.compare]
    values: Callable[[Any], Any]
    if len(names) > 1:
        values = attrgetter(*names)
    elif names:
        get = attrgetter(names[0])
        values = lambda one: (get(one),)  # noqa: E731
    else:
        values = lambda one: ()  # noqa: ARG005, E731

    def __eq__(self: object, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: object) -> int:
        return hash(values(self))

    return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}


def _frozen(specs: dict[str, _Spec]) -> dict[str, Any]:
    def __setattr__(self: Any, name: str, value: object) -> None:
        if name in specs or "__late_fields__" in type(self).__dict__:
            from dataclasses import FrozenInstanceError

            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)

    def __delattr__(self: Any, name: str) -> None:
        if name in specs or "__late_fields__" in type(self).__dict__:
            from dataclasses import FrozenInstanceError

            raise FrozenInstanceError(f"cannot delete field {name!r}")
        object.__delattr__(self, name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


@recursive_repr()
def _repr(self: Any) -> str:
    specs: dict[str, _Spec] = self.__late_fields__
    shown = (f"{name}={getattr(self, name)!r}" for name, spec in specs.items() if spec.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__late_fields__]


def _setstate(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__late_fields__, state, strict=True):
        object.__setattr__(self, name, value)
