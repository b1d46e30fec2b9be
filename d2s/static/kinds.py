"""The built-in operators of Programs: what is not an op of the op table, and what each means."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """
    A kind of built-in operator.

    Attributes
    ----------
    inputs, outputs : str
        Which values it takes and gives, as regular expression over one letter per value: t for a tensor, o for
        another Python object.
    meaning : str
    effect : bool
        True if every operator of this kind must carry the effect flag.
    attrs : tuple of str
        Attributes that it must have.
    blocks : int
        How many blocks it owns.
    alike : int or None
        Number of the input that the first output has the spec of.
    ends : bool
        True if it leaves the Program, so that nothing may follow it in its block.
    """

    inputs: str
    outputs: str
    meaning: str
    effect: bool = False
    attrs: tuple[str, ...] = ()
    blocks: int = 0
    alike: int | None = None
    ends: bool = False


KINDS: dict[str, Kind] = {
    # Control flow.
    "cond": Kind("o", ".*", "runs the first block if the input is true, else the second; gives that block's outputs",
                 effect=True, blocks=2),
    "while": Kind(".*", ".*", "while the first block gives true, runs the second; blocks start from what it carries",
                  effect=True, blocks=2),
    "reversed_turns": Kind(".*", ".*", "runs its block for every turn that a loop has recorded, last one first",
                           effect=True, attrs=("of", "record"), blocks=1),
    "return": Kind("", "", "ends the run with a result", effect=True, attrs=("result",), ends=True),
    "raise": Kind("", "", "ends the run with an exception", effect=True, attrs=("error",), ends=True),
    "has_turns": Kind("o", "o", "whether a `while` has recorded any turn"),
    "is_first_turn": Kind("", "o", "whether backward is in the first turn of a `while`, its last one", attrs=("loop",)),
    "branch_of": Kind("o", "o", "which branch a `cond` has recorded"),
    "check_bound": Kind(".", ".", "its input, or UnboundLocalError if a user's variable is unbound on the path taken",
                        effect=True, attrs=("name",), alike=0),
    "replace": Kind("tt", "t", "a version of its first input with the values of the second; history and hooks stay",
                    attrs=("is_view",), alike=1),
    # Python functions.
    "python": Kind("", ".", "calls a Python function", attrs=("call",)),
    "py_func": Kind("t*", "t*", "calls a Python function on tensors, with a backward function of its own",
                    effect=True, attrs=("function",)),
    "py_layer": Kind("t*", "ot*", "runs the forward of a PyLayer; gives its context and its outputs",
                     effect=True, attrs=("layer", "args", "kwargs")),
    "py_layer_backward": Kind("o.*", "t*", "runs the backward of a PyLayer", effect=True,
                              attrs=("layer",)),
    "walk": Kind("", "o", "calls a function of d2s that goes back from tensors, there and then", effect=True,
                 attrs=("call",)),
    "backward": Kind("", "", "runs backward from a tensor, there and then", effect=True, attrs=("call",)),
    # Between tensors and Python objects.
    "constant": Kind("t", "t", "a tensor that is known while the Program is built", alike=0),
    "size": Kind("t", "o", "size of one axis", attrs=("axis",)),
    "item": Kind("t", "o", "one element as Python number", attrs=("index", "use")),
    "array_of": Kind("t", "o", "the NumPy array of a tensor"),
    "to_array": Kind("o", "t", "a 0-d tensor of a Python number", attrs=("dtype",)),
    "materialise": Kind("t", "o", "the Tensor object of a value: the caller's own, or one made in this run"),
    "rewrite": Kind("t.o", "o", "lets the Tensor object of a value, if somebody has it, be a version written in place: "
                    "the version, and where the hooks of both are", effect=True, attrs=("data_only",)),
    "reload": Kind("o", "t", "the values that a Tensor object has now", effect=True),
    "version": Kind("ot", "o", "which version of a Tensor object has these values, with that object"),
    "taken": Kind("o", "to", "the values of a Tensor object that the run has in a container, and which one it is",
                 effect=True, attrs=("spec",)),
    "taken_all": Kind("o", "to", "what an op makes of all Tensor objects in a list, and which these are", effect=True,
                     attrs=("op", "attrs")),
    # Gradients that start, stop or are looked at.
    "leaf": Kind("t", "to", "a leaf made in this run, and its Tensor", effect=True, alike=0),
    "stop_gradient": Kind("t", "t", "the same values; no gradient passes", alike=0),
    "hook_point": Kind("to*", "o", "where the hooks of a value are kept in this run", effect=True),
    "register_hook": Kind("o", "o", "registers a gradient hook; gives the handle", effect=True,
                          attrs=("target", "hook")),
    "new_identity": Kind("", "o", "a number that says of a tensor which one it is in this run", effect=True),
    # In backward.
    "sums_by_identity": Kind("", "o", "begins the sums of the gradients of tensors that may have several names",
                             effect=True),
    "add_by_identity": Kind("oot", "", "adds a contribution to the gradient of the tensor that a value is in this run",
                            effect=True, attrs=("name", "certain", "counted")),
    "take_by_identity": Kind("oo", "t", "the complete gradient of a tensor, if there is any", effect=True),
    "contributed_by_identity": Kind("o", "", "says that a contribution is in, if a value is an edge in this run",
                                    effect=True, attrs=("name",)),
    "call_hooks": Kind("to?t*", "to?", "the complete gradient of a value after its hooks", effect=True, alike=0),
    "through_hooks": Kind("o.*", "t*o?", "what taped hooks contribute to what they were given, and to tensors from "
                          "outside", effect=True, attrs=("grads", "tensors")),
    "accumulate": Kind("t", "", "sends a contribution to an edge that leaves the Program", effect=True,
                       attrs=("edge", "name", "certain", "counted")),
    "arrived": Kind("", "", "says that the last contribution to an edge is in", effect=True, attrs=("edge", "name")),
    "contributed": Kind("", "", "says that one of the counted contributions to an edge is in", effect=True,
                        attrs=("edge", "name")),
    # In a whole step, where backward stands in its place.
    "start_sum": Kind("", "", "begins the sum of the contributions to a leaf of which some may not come", effect=True,
                      attrs=("edge",)),
    "add_to_sum": Kind("t", "", "adds a contribution to that sum", effect=True, attrs=("edge", "certain")),
    "start_rows": Kind("", "", "begins two lists of matrices, or of rows, for a product of all of them", effect=True,
                       attrs=("rows",)),
    "add_rows": Kind("tt", "", "adds a matrix or a row to each of these lists", effect=True, attrs=("rows",)),
    "product_of_rows": Kind("", "t", "the sum of the products of their pairs, the first of each transposed",
                            effect=True, attrs=("rows",)),
    "finish": Kind("t?", "", "the gradient of a leaf is complete: hooks, `.grad`, reduce hooks", effect=True,
                   attrs=("edge", "name")),
    "hooked": Kind("to", "t", "the complete gradient of a value after its hooks", effect=True, alike=0),
    "is_present": Kind("t+", "o", "true if one of the gradients is there"),
    "zeros_like": Kind("t", "t", "zeros in the shape of a value", alike=0),
    "or_zeros": Kind("tt", "t", "a gradient, or zeros in the shape of its value if it is absent", alike=1),
    "add_present": Kind("tt", "t", "the sum of two gradients of which either may be absent"),
    "modified_in_place": Kind("", "", "refuses to go on: a saved value has been written to", effect=True,
                              attrs=("op", "shape")),
    "check_input": Kind("", "", "refuses to go on if the caller has written to a tensor since the run read it",
                        effect=True, attrs=("number", "op")),
    "check_version": Kind("o", "", "refuses to go on if a tensor is written to that has been read in this version",
                          effect=True, attrs=("op",)),
    "check_chosen": Kind("", "", "refuses to go on if a hook has written to one of several tensors: only the path "
                         "tells which of them has been read", effect=True, attrs=("numbers", "outputs", "op")),
    "check_output": Kind("", "", "refuses to go on if the caller has written to a tensor of the run", effect=True,
                         attrs=("number", "op")),
}
