"""save and load."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import d2s
from d2s import nn, optimizer
from tests.io.damage import damaged


@pytest.mark.parametrize(
    "value",
    [
        None,
        [1, 2.5, True, "text", b"bytes", 1 + 2j],
        {"a": (1, {2, 3}), 4: frozenset([5])},
        OrderedDict([("z", 1), ("a", 2)]),
        2**100,
    ],
)
def test_plain_values_come_back(tmp_path: Path, value: Any) -> None:
    d2s.save(value, tmp_path / "f")
    found = d2s.load(tmp_path / "f")
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_tensors_and_arrays_come_back(tmp_path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    array = (np.arange(6.0).reshape(2, 3) if shape == (2, 3) else np.zeros(shape)).astype(dtype)
    d2s.save({"t": d2s.to_tensor(array), "a": array, "s": array.dtype.type(1), "f": array.T}, tmp_path / "f")
    found = d2s.load(tmp_path / "f")
    assert isinstance(found["t"], d2s.Tensor)
    for got in (found["t"].numpy(), found["a"]):
        assert (got.dtype, got.shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(got, array)
    assert type(found["s"]) is array.dtype.type
    np.testing.assert_array_equal(found["f"], array.T)
    assert type(d2s.load(tmp_path / "f", return_numpy=True)["t"]) is np.ndarray
    found["a"][...] = 1


def test_a_state_dict_moves_between_layers(tmp_path: Path) -> None:
    source, target = nn.Linear(2, 3), nn.Linear(2, 3)
    d2s.save(source.state_dict(), tmp_path / "net.pdparams")
    state = d2s.load(tmp_path / "net.pdparams")
    assert not state["weight"].stop_gradient
    assert state["weight"].name == source.weight.name
    target.set_state_dict(state)
    np.testing.assert_array_equal(target.weight.numpy(), source.weight.numpy())


def test_the_state_of_an_optimizer_comes_back(tmp_path: Path) -> None:
    weight = nn.Parameter([1.0])
    opt = optimizer.Adam(optimizer.lr.StepDecay(0.1, 1), parameters=[weight])
    (weight * weight).sum().backward()
    opt.step()
    d2s.save(opt.state_dict(), tmp_path / "opt")
    other = optimizer.Adam(optimizer.lr.StepDecay(0.1, 1), parameters=[weight])
    other.set_state_dict(d2s.load(tmp_path / "opt"))
    assert other.state_dict()["0.moment1"].tolist() == opt.state_dict()["0.moment1"].tolist()
    assert other.state_dict()["0.step"] == 1


def test_a_tensor_that_occurs_twice_is_one_tensor(tmp_path: Path) -> None:
    x = d2s.ones([1000])
    d2s.save([x, x, d2s.ones([1])], tmp_path / "f")
    first, second, third = d2s.load(tmp_path / "f")
    assert first is second is not third
    assert (tmp_path / "f").stat().st_size < 6000


def test_directories_are_made_and_files_may_be_open(tmp_path: Path) -> None:
    d2s.save(1, str(tmp_path / "a" / "b" / "f"))
    assert os.listdir(tmp_path / "a" / "b") == ["f"]
    buffer = io.BytesIO()
    d2s.save([d2s.ones([2])], buffer)
    buffer.seek(0)
    assert d2s.load(buffer)[0].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "value", [nn.ReLU(), print, nn.ReLU, Path("x"), object(), np.array([object()]), {"deep": [bytearray(b"x")]}]
)
def test_other_objects_are_refused_and_the_old_file_stays(tmp_path: Path, value: Any) -> None:
    d2s.save("old", tmp_path / "f")
    with pytest.raises(TypeError, match=r"save\(\) cannot write"):
        d2s.save(value, tmp_path / "f")
    assert d2s.load(tmp_path / "f") == "old"
    assert os.listdir(tmp_path) == ["f"]


def test_a_disk_error_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise OSError("disk full")

    d2s.save("old", tmp_path / "f")
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        d2s.save("new", tmp_path / "f")
    assert d2s.load(tmp_path / "f") == "old"
    assert os.listdir(tmp_path) == ["f"]


def test_loading_runs_no_code(tmp_path: Path) -> None:
    class Attack:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "made"),)

    (tmp_path / "f").write_bytes(b"d2s data 1\n" + pickle.dumps(Attack()))
    with pytest.raises(ValueError, match="mkdir is not allowed"):
        d2s.load(tmp_path / "f")
    assert not (tmp_path / "made").exists()


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(pickle.dumps(1))
    with pytest.raises(ValueError, match=r"other was not written by d2s.save"):
        d2s.load(tmp_path / "other")
    with pytest.raises(FileNotFoundError):
        d2s.load(tmp_path / "none")


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    d2s.save({"weights": [d2s.ones([4]), np.ones(3)], "n": 3}, tmp_path / "f")
    content = (tmp_path / "f").read_bytes()
    for end in range(len(content)):
        (tmp_path / "f").write_bytes(content[:end])
        with pytest.raises(ValueError, match=r"damaged|not written"):
            d2s.load(tmp_path / "f")


def test_save_in_a_static_function_happens_on_every_call(tmp_path: Path) -> None:
    @d2s.to_static
    def step(x: d2s.Tensor) -> d2s.Tensor:
        y = x * 2
        d2s.save({"y": y}, tmp_path / "y")
        return y

    for value in (1.0, 5.0):
        step(d2s.to_tensor([value]))
        assert d2s.load(tmp_path / "y")["y"].tolist() == [2 * value]


@settings(max_examples=max(100, settings.default.max_examples))
@given(draw=st.data())
def test_whatever_was_changed_in_a_file_it_is_read_or_refused(draw: st.DataObject) -> None:
    """No file makes `load` raise anything but ArgumentError, or run code of the file."""
    written = io.BytesIO()
    d2s.save({"a": d2s.ones([3]), "b": [1, 2.5, "x", (True, b"q")], "c": np.arange(4)}, written)
    with contextlib.suppress(d2s.ArgumentError):
        d2s.load(io.BytesIO(damaged(written.getvalue(), draw)))


def test_tensors_with_flags_and_dtypes_that_save_does_not_write_are_refused() -> None:
    class Pickler(pickle.Pickler):
        def persistent_id(self, obj: Any) -> Any:
            return obj.stored if isinstance(obj, Stored) else None

    class Stored:
        def __init__(self, *stored: Any) -> None:
            self.stored = stored

    good = ("tensor", "<f4", (1,), b"\0" * 4)
    for stored in (
        (*good, [], None), (*good, True, 3), ("tensor", "<f4,<i4", (1,), b"\0" * 8, True, None),
        ("module", *good[1:], True, None), ("array", "O", (1,), b"\0" * 8), (), ("again", 7),
    ):
        file = io.BytesIO()
        file.write(b"d2s data 1\n")
        Pickler(file).dump(Stored(*stored))
        file.seek(0)
        with pytest.raises(d2s.ArgumentError, match="damaged"):
            d2s.load(file)


def test_a_number_in_a_file_cannot_fill_the_memory() -> None:
    """A place in the table of the reader far behind its end: it would be made 16 GB long."""
    file = io.BytesIO()
    d2s.save(None, file)
    whole = file.getvalue()
    assert whole.endswith(b"N.")
    with pytest.raises(ValueError, match="LONG_BINPUT is not allowed"):
        d2s.load(io.BytesIO(whole[:-1] + b"r\xff\xff\xff\x7f."))


def test_two_objects_in_one_file_and_a_file_without_places(tmp_path: Path) -> None:
    with open(tmp_path / "both", "wb") as file:
        d2s.save([1], file)
        d2s.save(d2s.ones([2]), file)
    with open(tmp_path / "both", "rb") as file:
        assert d2s.load(file) == [1]
        assert d2s.load(file).tolist() == [1.0, 1.0]

    class Stream(io.BytesIO):
        def seekable(self) -> bool:
            return False

    assert d2s.load(Stream((tmp_path / "both").read_bytes())) == [1]


def _pickled(opcodes: bytes) -> io.BytesIO:
    return io.BytesIO(b"d2s data 1\n\x80\x04" + opcodes + b".")


# Tuples each of which holds the one before it twice; and one inside of the other.
_SHARED = b")\x94" + b"".join(b"h" + bytes([number]) + b"\x86\x94" for number in range(60))
_NESTED = b")" + b"\x85" * 300_000


@pytest.mark.parametrize("key", [_SHARED, _NESTED], ids=["shared", "nested"])
@pytest.mark.parametrize(("begin", "end"), [(b"}", b"Ns"), (b"}(", b"Nu"), (b"(", b"\x91"), (b"\x8f(", b"\x90")])
def test_a_key_in_a_file_cannot_stop_the_reader(key: bytes, begin: bytes, end: bytes) -> None:
    """To hash one would overflow the stack, or take for ever."""
    with pytest.raises(d2s.ArgumentError, match="too deep or too large"):
        d2s.load(_pickled(begin + key + end))


def test_nested_and_shared_tuples_come_back(tmp_path: Path) -> None:
    shared = (1, (2, 3))
    value = {(shared, shared, "a"): [shared] * 5, "set": {shared, (shared,)}, "frozen": frozenset([shared])}
    d2s.save(value, tmp_path / "file")
    assert d2s.load(tmp_path / "file") == value


@pytest.mark.parametrize("opcodes", [
    b"cos\nsystem\n", b"(S'ls'\nios\nsystem\n", b"\x82\x01", b"Pabc\n", b"N0N0", b"h\x05",
    b"\x8c\x02os\x8c\x06system\x93", b"N)\x81", b"N}b", b"\x95\xff\xff\xff\xff\xff\xff\xff\x0f",
    b"\x8d\xff\xff\xff\xff\xff\xff\xff\x0f", b"u", b"(0"])
def test_other_opcodes_than_those_of_save_are_refused(opcodes: bytes) -> None:
    with pytest.raises(d2s.ArgumentError, match="damaged"):
        d2s.load(_pickled(opcodes))


def test_an_ordered_dict_with_attributes_is_refused() -> None:
    """They could hide its methods from whoever reads it."""
    state = OrderedDict(a=1)
    state.items = 5  # type: ignore[assignment, method-assign]
    with pytest.raises(d2s.DTypeError, match="attributes of an OrderedDict: items"):
        d2s.save(state, io.BytesIO())


def test_state_dicts_with_other_things_than_arrays_change_nothing() -> None:
    net = nn.Linear(2, 2)
    adam = optimizer.Adam(0.1, parameters=net.parameters())
    net(d2s.ones([1, 2])).sum().backward()
    adam.step()
    before, state = [parameter.numpy() for parameter in net.parameters()], adam.state_dict()
    five, texts, things = 5, np.array(["a", "b"]), np.array([object(), 1], dtype=object)
    for bad in (texts, things, [1, [2]], ["1", "2"], None, five, {}, {1, 2}, len):
        with pytest.raises(d2s.D2SError):
            net.set_state_dict({"weight": np.ones((2, 2)), "bias": bad})
        for key in state:
            if not (bad is five and key.endswith("step")):
                with pytest.raises(d2s.D2SError):
                    adam.set_state_dict({**state, key: bad})
    for bad in (None, 5, "text", [1]):
        with pytest.raises(d2s.DTypeError, match="must be a dict"):
            net.set_state_dict(bad)  # type: ignore[arg-type]
        with pytest.raises(d2s.DTypeError, match="must be a dict"):
            adam.set_state_dict(bad)  # type: ignore[arg-type]
    for key in ("²", "x", "5.step", 1, None):
        with pytest.raises(KeyError):
            adam.set_state_dict({key: 1})  # type: ignore[dict-item]
    assert all(np.array_equal(one, two.numpy()) for one, two in zip(before, net.parameters(), strict=True))
    for key, value in adam.state_dict().items():
        assert np.array_equal(np.asarray(value), np.asarray(state[key]))
