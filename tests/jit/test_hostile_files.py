"""Files of `jit.save` that somebody has written to do harm: they are refused when they are read."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import struct
import zipfile

import numpy as np
import pytest

import d2s
from d2s import nn
from d2s.core.op import OP_TABLE
from d2s.static.kinds import KINDS

CODE = "x=__import__('os').environ.update(HARM='done'), y"
TEXTS = (CODE, CODE[2:-3], f"0); {CODE[2:-3]}; (0", f"'+{CODE[2:-3]}+'", "{0}", "{", "x²", "a  # b", "\u2028x")


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)

    def forward(self, x):
        y = self.inner(x)
        if y.sum() > 0:
            y = y * 2
        while y.sum() < 1:
            y = y + 1
        first, _ = d2s.split(y, 2, axis=1)
        return first.mean(axis=0, keepdim=True), max(x.shape[0] * 2, 3), y[:, ::1].reshape([-1])


@pytest.fixture(scope="module")
def entries(tmp_path_factory):
    """What is in a file."""
    path = tmp_path_factory.mktemp("saved") / "net"
    d2s.jit.save(Net(), path, input_spec=[d2s.static.InputSpec([None, 2], "float32")])
    with zipfile.ZipFile(path.with_suffix(".d2s")) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def load(entries, tmp_path, monkeypatch):
    """Reads a file with other entries, or another description; what is read is run, too."""
    monkeypatch.delenv("HARM", raising=False)
    file = tmp_path / "changed.d2s"

    def load(changed, compression=zipfile.ZIP_STORED):
        if "program.json" not in changed:
            changed = {"program.json": json.dumps(changed)}
        with zipfile.ZipFile(file, "w", compression) as archive:
            for name, content in {**entries, **changed}.items():
                archive.writestr(name, content)
        return d2s.jit.load(file)

    yield load
    assert "HARM" not in os.environ


def refused(load, *args):
    with pytest.raises(d2s.ArgumentError, match="damaged"):
        load(*args)


@pytest.fixture
def described(entries):
    return json.loads(entries["program.json"])


def operators(block):
    for operator in block["operators"]:
        yield operator
        for inner in operator["blocks"]:
            yield from operators(inner)


def of_kind(described, kind):
    block = described["modes"]["eval"]["program"]["block"]
    return next(operator for operator in operators(block) if operator["kind"] == kind)


@pytest.mark.parametrize("name", [CODE, "not a name", "lambda", "", 5, None])
def test_names_of_arguments_are_names(load, described, name):
    call = of_kind(described, "python")
    call["effect"] = True
    call["attrs"][0][1]["tuple"][2] = {"dict": [[name, 1]]}
    refused(load, described)


@pytest.mark.parametrize("op", sorted(OP_TABLE))
def test_attributes_of_ops_have_names_that_the_op_has(load, described, op):
    """Also where `infer` takes any."""
    call = next(o for o in operators(described["modes"]["eval"]["program"]["block"]) if o["is_op"])
    call.update(kind=op, attrs=[[CODE, 1]], effect=True)
    refused(load, described)


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("text", [CODE, CODE[2:-3]], ids=["a name", "a call"])
def test_attributes_of_built_in_operators_are_what_they_are(load, described, kind, text):
    block = described["modes"]["eval"]["program"]["block"]
    known = KINDS[kind]
    block["operators"].insert(0, {
        "kind": kind, "inputs": [0] if known.inputs.startswith("t") else [], "outputs": [], "is_op": False,
        "attrs": [[name, text] for name in known.attrs] or [[text, 1]], "effect": True, "several": False,
        "record": None, "blocks": [{"inputs": [], "operators": [], "outputs": []} for _ in range(known.blocks)]})
    refused(load, described)


@pytest.mark.parametrize("text", TEXTS)
def test_no_text_of_a_file_becomes_code(load, described, text):
    """Every text in a description, one after the other; what is still read, is run."""
    def places(tree, path=()):
        for key, part in tree.items() if isinstance(tree, dict) else enumerate(tree):
            if isinstance(part, dict | list):
                yield from places(part, (*path, key))
            elif not isinstance(part, int) or isinstance(part, bool):
                yield (*path, key)

    # One of each sort of place.
    sorts = {
        tuple("" if isinstance(key, int) else key for key in place): place
        for place in places(described["modes"]["eval"], ("modes", "eval"))}
    for *above, last in sorts.values():
        changed = copy.deepcopy(described)
        parent = changed
        for key in above:
            parent = parent[key]
        parent[last] = text
        # An attribute of an op, for one, may be a text that the op does not know what to do with.
        with contextlib.suppress(d2s.D2SError, TypeError):
            load(changed)(d2s.ones([2, 2]))


@pytest.mark.parametrize("template", ["sum", "mean", "reshape", "transpose", "matmul", "split", "max"])
def test_texts_are_not_pasted_into_expressions(template):
    """The same, where `infer` does not look at an attribute."""
    from d2s.static.codegen import _pattern
    from d2s.static.program import Operator, Value

    value = Value("x", d2s.core.spec.TensorSpec((2, 2), np.dtype("float32")))
    for name in ("axis", "keepdim", "shape", "perm", "transpose_x", "index"):
        operator = Operator(template, (value, value), (value,), {name: (1, CODE)}, OP_TABLE[template])
        assert _pattern(OP_TABLE[template], operator) is None


@pytest.mark.parametrize(("function", "args"), [
    ("math.sqrt", [1, 2]), ("d2s.set_value", [1]), ("operator.lt", [1]), ("d2s.fill", [{"function": "d2s.check"}])])
def test_calls_have_as_many_arguments_as_the_function_takes(load, described, function, args):
    of_kind(described, "python")["attrs"] = [
        ["call", {"tuple": [{"function": function}, {"tuple": args}, {"dict": []}]}]]
    refused(load, described)


def test_functions_of_d2s_are_not_filled(load, described):
    from d2s.operators import control_flow

    call = of_kind(described, "python")
    call["effect"] = True
    call["attrs"] = [["call", {"tuple": [
        {"function": "d2s.fill"}, {"tuple": [{"function": "d2s.check"}, {"tuple": [{"tuple": ["harm", 1]}]}]},
        {"dict": []}]}]]
    with pytest.raises(d2s.ExecutionError, match="fills a function"):
        load(described)(d2s.ones([2, 2]))
    assert not vars(control_flow._check)


@pytest.mark.parametrize("call", [
    5, {"tuple": [{"function": "len"}]}, {"tuple": ["len", {"tuple": []}, {"dict": []}]},
    {"tuple": [{"value": 0}, {"tuple": []}, {"dict": []}]}, {"tuple": [{"function": "len"}, "ab", {"dict": []}]}])
def test_calls_are_calls(load, described, call):
    of_kind(described, "python")["attrs"] = [["call", call]]
    refused(load, described)


@pytest.mark.parametrize("change", [
    lambda described: described["modes"].update(other=5) or described["modes"].pop("train"),
    lambda described: described["modes"]["eval"]["inputs"].reverse(),
    lambda described: described["modes"]["eval"]["inputs"].pop(),
    lambda described: described["modes"]["eval"]["inputs"][1].update(state=100),
    lambda described: described["state"][0].update(array=described["state"][1]["array"]),
    lambda described: described["state"][0].update(names=[".".join("a" * 10_000)]),
    lambda described: described["state"][0].update(names=["forward"]),
    lambda described: described.update(arrays=10**12),
    lambda described: described["modes"]["eval"]["program"]["values"][0].update(stop_gradient=CODE),
    lambda described: described["modes"]["eval"]["program"]["values"][0].update(spec=[[-1, 2], "<f4"]),
    lambda described: described["modes"]["eval"]["program"]["values"][0].update(spec=[[2, 2], "|O"]),
    lambda described: of_kind(described, "matmul")["location"].__setitem__(1, -1),
    lambda described: of_kind(described, "matmul")["location"].__setitem__(1, 10**30),
    lambda described: of_kind(described, "matmul")["location"].__setitem__(3, CODE),
    lambda described: of_kind(described, "matmul")["location"].__setitem__(2, "two\nlines"),
], ids=["no mode", "inputs", "an input less", "number", "shape", "deep", "name", "arrays", "flag", "size", "dtype",
        "line", "large line", "column", "lines"])
def test_descriptions_that_do_not_fit(load, described, change):
    change(described)
    refused(load, described)


def test_a_place_is_no_path(load, described):
    of_kind(described, "matmul")["location"][0] = "/etc/passwd"
    changed = load(described)
    changed.inner.weight.data = np.ones((5, 2), "float32")
    with pytest.raises(d2s.ShapeError) as caught:
        changed(d2s.ones([1, 2]))
    assert caught.value.location.file == "passwd"


def header(text, data=b"1234"):
    content = text.encode()
    content += b" " * (64 - (11 + len(content)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(content)) + content + data


@pytest.mark.parametrize(("descr", "shape"), [
    ("'<f4'", "(1000000000000,)"), ("'|S0'", "(1000000000000,)"), ("'|O'", "(1,)"), ("[('a', '<f4')]", "(1,)"),
    ("'<f4'", "(-1, -1)"), (CODE[2:-3], "()"), ("'<f4'", "(0, 1000000000000)"), ("(" * 3000 + ")" * 3000, "()")])
def test_headers_of_arrays(load, descr, shape):
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}"
    refused(load, {"program.json": b"", "arrays/0.npy": header(text)})


@pytest.mark.parametrize("compression", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_small_file_cannot_fill_the_memory(load, entries, compression):
    refused(load, {"program.json": b" " * 1_000_000 + entries["program.json"]}, compression)


def test_entries_do_not_share_a_stretch_of_the_file(entries, tmp_path):
    file, data = tmp_path / "overlap.d2s", io.BytesIO()
    np.save(data, np.zeros(10_000))
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("program.json", json.dumps({**json.loads(entries["program.json"]), "arrays": 50}))
        archive.writestr("arrays/0.npy", data.getvalue())
        for number in range(1, 50):
            again = copy.copy(archive.getinfo("arrays/0.npy"))
            again.filename = f"arrays/{number}.npy"
            archive.filelist.append(again)
    with pytest.raises(d2s.ArgumentError, match="damaged"):
        d2s.jit.load(file)


@pytest.mark.parametrize("text", [b"[" * 100_000, b'{"format": ' + b"9" * 10_000 + b"}", b"", b"5", b"\xff"])
def test_descriptions_that_are_none(load, text):
    refused(load, {"program.json": text})


def test_a_file_that_ends_too_soon(entries, load, tmp_path):
    load({"program.json": entries["program.json"]})
    whole = (tmp_path / "changed.d2s").read_bytes()
    for end in range(0, len(whole), max(1, len(whole) // 200)):
        (tmp_path / "changed.d2s").write_bytes(whole[:end])
        with pytest.raises(d2s.ArgumentError):
            d2s.jit.load(tmp_path / "changed.d2s")
