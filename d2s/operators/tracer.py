"""The tracer: runs converted user code once, on symbols, and records what it does as a Program.

Tracing changes nothing outside.  What the code reads of older objects becomes guards and inputs (`outside`,
`containers`); what it would do to them becomes effect operators, and later reads in the same trace see the pending
effects.  Decisions that Python needs are followed both ways (`recorder`).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from d2s.core.interpreter import set_grad_mode, state
from d2s.core.op import Op
from d2s.core.spec import DType, TensorSpec
from d2s.errors import TracingError, UnsupportedSyntaxError, user_location
from d2s.operators import layer_guards, policy, sharing, views
from d2s.operators.choices import joined_spec, may_be, may_replace
from d2s.operators.closures import Lowering
from d2s.operators.foreign_results import ForeignResults
from d2s.operators.foreign_writes import materialise_outside
from d2s.operators.frames import user_frames
from d2s.operators.guards import REGISTRIES, Guard
from d2s.operators.late_arrays import LateArrays
from d2s.operators.layer_hooks import LayerHooks
from d2s.operators.open_items import OPENED, is_open
from d2s.operators.restarts import Learned, ListsOfTheRun, StoppedTensors, WalksInRegions
from d2s.operators.run_time import set_value, show_retained
from d2s.operators.shown_objects import ShownObjects
from d2s.operators.sizes import OpenSizes
from d2s.operators.sources import Constant, Item
from d2s.operators.tensors_of_objects import TensorsOfObjects
from d2s.ops.sharing import VIEW_OPS
from d2s.static.program import Block, Operator, Program, Value
from d2s.static.runtime import is_one_tensor
from d2s.static.variable import ObjectVariable, Variable

# Of a gradient and numbers they make something with the same shape and dtype.
_KEEP_SPEC = (operator.add, operator.sub, operator.mul, operator.truediv, operator.neg, operator.pos, operator.abs)


def _is_number(thing: Any) -> bool:
    kind = thing.value.kind if isinstance(thing, ObjectVariable) else type(thing)
    return kind in (int, float)


class Tracer(TensorsOfObjects):
    """Records one call of a converted function.

    Attributes
    ----------
    retaining : set of Value
        Values of which the gradient is retained.
    lowering : Lowering
        Makes templates of objects and functions that the Program makes anew on each run.
    layer_hooks : LayerHooks
        The hooks of Layers at this place of the trace.
    outer_frames : int
        How many frames of the user's functions stand around the trace.
    grad_mode : bool
        The grad mode in which the Program runs.
    """

    priority = 20

    def __init__(
        self, program: Program, numbers: frozenset[tuple[Any, ...]] = frozenset(),
        sizes: OpenSizes | None = None, learned: frozenset[type[Learned]] = frozenset(),
    ) -> None:
        super().__init__(program, numbers, sizes)
        # What earlier traces of the function have found out.
        self.learned = learned
        self.retaining: set[Value] = set()
        # Values read from them: what else they are is not known.
        self.taken_values: set[Value] = set()
        # The hooks that the traced code has registered, and what they may have changed in a `backward` inside of it.
        self.hooks: dict[int, Any] = {}
        self.touched: dict[int, Any] = {}
        # The tensors from outside that turns have written to, for each loop that is being traced.
        self.written_in_turns: list[list[Any]] = []
        # Objects of the run that are Tensors of which it is known what they are: gradients, and multiples of them.
        self.object_specs: dict[Value, TensorSpec] = {}
        # Lists and dicts of which the run may have another one in their place: they must not be changed any more.
        self.frozen_containers: dict[int, Any] = {}
        # Those of which `stop_gradient` was set, unless they were made Tensors before.
        self.stopped: set[Value] = set()
        # Operators that a recorded `grad` has used up.
        self.used_up: set[Operator] = set()
        # The blocks in which traced code has made objects that the run makes anew when it needs them, by identity.
        self.born: dict[int, tuple[Any, Block]] = {}
        self.spent: dict[int, Any] = {}  # iterators of which only the run knows how far a loop has come with them
        # True once control flow has chosen a tensor, and once one has been detached: without that nobody need look.
        self.may_choose = self.detaches = False
        self.lowering = Lowering(self)
        self.late_arrays = LateArrays(self)
        self.foreign_results = ForeignResults(are_numbers=False)
        self.shown_objects = ShownObjects(self)
        self.layer_hooks = LayerHooks(self)
        # Values that have a Tensor from where they are defined, as some path needs one; others that some path has
        # written over, as they had none.
        self.made_early: set[Value] = set()
        self.written_over: set[Value] = set()
        # What the traced code has registered in Layers from outside, by Layer and name.
        self.registered: set[tuple[int, str]] = set()
        self.outer_frames = len(user_frames())
        self.grad_mode = state.grad_enabled

    # --- tensors: methods and in-place writes --------------------------------------------------------------------

    def process(self, op: Op, args: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        result = super().process(op, args, attrs)
        if op.name in VIEW_OPS:
            sharing.link(op, args, attrs, result, self)
        return result

    def method_call(self, variable: Variable, name: str, *args: Any) -> Any:
        if name == "retain_grads":
            self.retaining.add(variable.value)
        if name in ("backward", "_register_backward_hook"):
            self.effects += 1
        if name == "_register_backward_hook":
            self.note_hook(*args)
        if name != "backward":
            return super().method_call(variable, name, *args)
        from d2s.operators.inner_walks import backward_from

        backward_from(self, variable, args)
        return None

    def walk_from(self, function: Any, tensors: list[Any], **options: Any) -> ObjectVariable:
        from d2s.operators.inner_walks import walk_from

        return walk_from(self, function, tensors, options)

    def gradients_of(self, function: Any, outputs: list[Any], inputs: list[Any], **options: Any) -> list[Any]:
        from d2s.operators.inner_walks import gradients_of

        return gradients_of(self, function, outputs, inputs, options)

    def registration(self, variable: Variable, hook: Any) -> Value:
        self.note_hook(hook)
        return super().registration(variable, hook)

    def held(self) -> list[Any]:
        # Views of tensors from outside are other ones behind a write to these.
        shared = [variable for _, variable in self.canonical.values() if sharing.sharing_of(variable) is not None]
        # A `backward` in a branch or turn runs the hooks that are there.
        return [*super().held(), *shared, *(self.hooks.values() if WalksInRegions in self.learned else ())]

    def note_hook(self, *hooks: Any) -> None:
        """Note that the traced code has registered hooks."""
        self.hooks.update((id(hook), hook) for hook in hooks)

    def freeze(self, thing: Any, objects: bool = False) -> None:
        """Refuse changes of a list or dict, and of those in it, from now on: the trace could not tell of which.

        With `objects`, of the user's objects too.
        """
        is_built = isinstance(thing, list | dict) and not is_open(thing) and not self.is_outer(thing)
        if is_built or (objects and self.is_made(thing)):
            self.frozen_containers[id(thing)] = thing
        if isinstance(thing, list | dict | tuple) and not self.is_outer(thing):
            for part in thing.values() if isinstance(thing, dict) else thing:
                self.freeze(part, objects)

    def check_not_frozen(self, thing: Any, what: str = "") -> None:
        """Refuse to change what the run may have another one in the place of."""
        if id(thing) in self.frozen_containers:
            if type(thing) in OPENED and ListsOfTheRun not in self.learned:
                raise ListsOfTheRun
            raise UnsupportedSyntaxError(
                f"a {type(thing).__name__} is changed{what} that a loop has put into a list, or may have replaced: "
                "only the run knows which one it is", user_location(),
                "Change it before, make a new one, or use a tuple; or keep the function eager with "
                "@d2s.jit.not_to_static.",
                kind="U33",
            )

    def check_untouched(self, thing: Any) -> None:
        """Refuse to read what a hook may have changed in the run."""
        if id(thing) in self.touched:
            raise UnsupportedSyntaxError(
                f"a {type(thing).__name__} that a hook may have changed during backward() is used after it in the "
                "same call", user_location(), "Use it before, let the hook write to a list, dict or set, or call "
                "backward() outside of the static function.",
                kind="U30",
            )

    def assign_version(self, variable: Variable, new: Variable) -> None:
        views.assign(self, variable, new)

    def rebind_version(self, variable: Variable, new: Variable) -> None:
        """Make an interior `variable` name `new`, a version with a history of its own."""
        self.check_no_leaf(variable)
        old = Variable(self, variable.value)
        self.rebind(variable, new.value)
        self.rewrite_tensor(old.value, new.value)
        if old.value in self.retaining:
            self.retaining.add(variable.value)

    def rewrite_tensor(self, old: Value, new: Value, data_only: bool = False) -> None:
        """Let the Tensor object of `old`, if the run has made one, be `new`, which was written over it."""
        if not self._is_shown(old):
            self.written_over.add(old)
            return
        defined = self.definitions.get(old)
        if old in self.may_be_outer and (defined is None or defined[0].kind == "while"):
            self._check_shares_nothing(old)
        self._rewrite(old, new, data_only)
        held = self.tensor_object(old)
        if held is not None:
            self._materialised[new] = held
        if new.stop_gradient:
            # Whoever has it may write to it before a gradient reads its values.
            self.materialise(new)

    def _is_shown(self, value: Value) -> bool:
        """True if the run may have made a Tensor object of a value by now."""
        return self.may_have_left(value) or value in self.made_early or self.is_made_leaf(value)

    def _rewrite(self, old: Value, new: Value, data_only: bool) -> None:
        points = self.hook_point(old), self.hook_point(new)
        tensor = self.new_value(f"{new.name}@TENSOR", None)
        self.emit("rewrite", (new, *points), (tensor,), {"data_only": data_only}, effect=True)
        self.left.add(new)

    def are_one(self, first: Value, second: Value) -> ObjectVariable:
        """Whether two values are one tensor in a run: they have the same hooks then."""
        points = (ObjectVariable(self, self.hook_point(value)) for value in (first, second))
        return self.python_call(is_one_tensor, tuple(points), kind=bool)

    def rebind_chosen(
        self, variable: Variable, test: ObjectVariable, new: Variable, data_only: bool | None = None,
        made_by: Iterable[Operator] = (),
    ) -> None:
        """Make `variable` name `new` in runs in which `test` is true; the operators `made_by` run only there.

        Its Tensor object becomes `new` there, as in `rewrite_tensor`, unless `data_only` is None: then it has.
        """
        old = Variable(self, variable.value)
        first, second = new.value, old.value
        chosen = Block((), [*made_by], (first,))
        self.definitions.update((out, (made, chosen)) for made in chosen.operators for out in made.outputs)
        if data_only is not None and self._is_shown(second):
            with self.recording_into(chosen):
                self._rewrite(second, first, data_only)
        spec = joined_spec(first, second)
        out = self.new_value(
            second.name, spec, first.stop_gradient and second.stop_gradient,
            maybe_missing=second.maybe_missing)
        record = self.new_value("record", None)
        emitted = self.emit(
            "cond", (test.value,), (out,), {}, effect=True, blocks=(chosen, Block((), [], (second,))))
        if emitted.record is None:
            emitted.record = record
            self.definitions[record] = (emitted, self.block)
        self.note_chosen(emitted.outputs[0], (first, second))
        self.rebind(variable, emitted.outputs[0])
        if self.retaining:
            self.python_call(show_retained, (old, variable), effect=True)

    def replaced(self, old: Value, data: Value, is_view: bool = False) -> Value:
        """A version of a tensor with other values and the same history and hooks.

        If it `is_view`, it goes on sharing them with what `data` is a view of.
        """
        out = self.new_value(old.name, data.spec, old.stop_gradient)
        out = self.emit("replace", (old, data), (out,), {"is_view": is_view}).outputs[0]
        self.note_chosen(out, (old,))
        return out

    def set_value(self, variable: Variable, value: Any) -> None:
        new = self.tensor_to_write(value, variable)
        if new.dtype != variable.dtype:
            new = new.astype(variable.dtype)
        new = self.fitting(new, variable)
        views.write(self, variable, self.symbol(new).detach(), data_only=True)

    def record_write(self, tensor: Any, variable: Variable, value: Value) -> None:
        """Write values to a tensor from outside when the Program runs, and let the rest of the trace see them."""
        old = variable.value
        self.effects += 1
        self.python_call(set_value, (variable, ObjectVariable(self, self.array_of(value))), effect=True)
        shares = self._shares(tensor)
        if shares:
            # Other tensors from outside may show what was written.
            self.tensors_may_change()
        for tensors in self.written_in_turns:
            tensors.append(tensor)
        if shares or self.in_loop:
            # Of a view, the array is a part of what it is a view of.  In turns, each reads what is there.
            self._read_again(variable, tensor)
            return
        written = self.new_value(old.name, value.spec, old.stop_gradient)
        written = self.emit("replace", (old, value), (written,), {"is_view": False}).outputs[0]
        self.tensors[written] = tensor
        self.program.same_edge[written] = self.captured[id(tensor)][1]
        self._materialised[written] = self.hook_points[written] = self.materialise(old)
        self.note_version(written)
        self.rebind(variable, written)

    def _shares(self, tensor: Any) -> bool:
        """True if other tensors from outside may show the values of this one."""
        shares = tensor._sharing is not None
        test, said = ("not None", "with views") if shares else ("None", "without views")
        self._guard_outer(tensor, "{v}._sharing is " + test, said)
        return shares

    def is_outer_leaf(self, tensor: Any) -> bool:
        """True if no operator has computed a tensor from outside; another Program is for those of the other kind."""
        is_leaf: bool = tensor.is_leaf
        self._guard_outer(tensor, *("{v}.is_leaf", "a leaf") if is_leaf else ("not {v}.is_leaf", "computed"))
        return is_leaf

    def is_outer_hooked(self, tensor: Any) -> bool:
        """True if a leaf from outside has gradient hooks; another Program is for those of the other kind."""
        is_hooked = bool(tensor._leaf and tensor._leaf.hooks)
        self._guard_outer(tensor, *("{v}._leaf and {v}._leaf.hooks", "with hooks") if is_hooked else (
            "not ({v}._leaf and {v}._leaf.hooks)", "without hooks"))
        return is_hooked

    def _guard_outer(self, tensor: Any, test: str, said: str) -> None:
        self.guards.add(Guard(self.sources[self.captured[id(tensor)][1]], test, (), said, is_live=True))

    def _check_shares_nothing(self, value: Value) -> None:
        """Refuse a write to what turns have carried if it may be a tensor from outside that shares values."""
        for tensor, outer in tuple(self.captured.values()):
            if may_replace(outer, value) and self._shares(tensor):
                raise UnsupportedSyntaxError(
                    "an in-place write to what a turn of a loop may have made a tensor from outside, which has views "
                    "or is one, cannot become a graph", user_location(), "Write to the tensor from outside by its own "
                    "name, or to a clone.", kind="U08")

    def set_stop_gradient(self, variable: Variable, flag: bool) -> None:
        old = variable.value
        if flag is variable.stop_gradient and old not in self.may_stop:
            return
        others = [other for other in may_be(variable) if sharing.is_here(self, other)]
        in_turn = self.in_loop and old in self.tensors
        if others or in_turn or (not flag and (self.is_merged(old) or old in self.may_stop)):
            for value in (old, *(other.value for other in others)):
                self.take_apart(value)
            raise UnsupportedSyntaxError(
                "stop_gradient of a tensor is set that a branch or a turn may have set too: only the run knows with "
                "what history the tensor goes on", user_location(),
                "Use its detach() where no gradient is wanted.", kind="U34")
        defined = self.definitions.get(old)
        is_leaf = self.is_made_leaf(old)
        stops = flag and not is_leaf and old not in self.tensors
        if not (flag and is_leaf) and not self.may_have_left(old) and not (stops and StoppedTensors in self.learned):
            super().set_stop_gradient(variable, flag)
            if stops:
                self.stopped.add(variable.value)
            return
        if not flag and not (defined is not None and defined[0].kind == "stop_gradient"):
            raise UnsupportedSyntaxError(
                "stop_gradient=False is set on a tensor made in this call that a container, a function or a call "
                "outside of the trace has already", user_location(),
                "Set it directly behind the line that makes the tensor.", kind="U34")
        # It goes on being that Tensor, once what was done to it before is known.
        old = self.bound(variable)
        tensor = self.materialise(old)
        self.python_call(setattr, (ObjectVariable(self, tensor), "stop_gradient", flag), effect=True)
        super().set_stop_gradient(variable, flag)
        if flag:
            self._materialised[variable.value] = self.hook_points[variable.value] = tensor
            self.left.add(variable.value)

    def may_have_left(self, value: Value) -> bool:
        """True if the run may have made a Tensor object of `value`, or of what it is in the run."""
        # Of what comes from a branch, an earlier turn or a container it is not known which value it was.
        return value in self.left or value in self.may_be_outer or (bool(self.left) and (
            self.is_merged(value) or value in self.taken_values or any(value in inputs for inputs in self.turn_inputs)))

    def set_flag(self, variable: Variable, tensor: Any, flag: bool) -> None:
        """Set `stop_gradient` of a tensor from outside: if it stops, it goes on being that tensor."""
        old = variable.value
        self.set_stop_gradient(variable, flag)
        if flag and variable.value is not old:
            self.tensors[variable.value] = tensor
            self._materialised[variable.value] = self.hook_points[variable.value] = self.materialise(old)

    def symbol(self, tensor: Any) -> Variable:
        """The Variable for a tensor of either mode."""
        return tensor if isinstance(tensor, Variable) else self.lift(tensor)

    def note_chosen(self, chosen: Value, sources: Iterable[Value]) -> None:
        sources = tuple(sources)
        if not self.stopped.isdisjoint(sources):
            self.stopped.add(chosen)
        super().note_chosen(chosen, sources)

    def materialise(self, value: Value) -> Value:
        if value in self.stopped:
            # It is no leaf, and goes on with its history if somebody sets `stop_gradient` back.
            raise StoppedTensors
        defined, version = self.definitions.get(value), self.program.versions.get(value)
        if (
            version is None and value.stop_gradient and value not in self.tensors and defined is not None
            and defined[0].op is not None and defined[1] is not self.block and value not in self.written_over
        ):
            materialise_outside(self, value, *defined)
            version = self.program.versions[value]
        tensor = super().materialise(value)
        if version is not None and version in self.definitions:
            if self.in_scope(version):
                self.recall(version)
        elif (
            (value.stop_gradient or value in self.may_stop) and value not in self.tensors
            and defined is not None and defined[1] is self.block
        ):
            # Whoever has it may write to it before its values are read by a gradient.
            self.note_version(value)
        return tensor

    def is_tensor_of_run(self, variable: Variable) -> bool:
        """True if the caller, or something that this run has made, has `variable` as a Tensor, or may have it."""
        value = variable.value
        return value in self.tensors or self.tensor_object(value) is not None or self._is_shown(value)

    def anything_may_change(self) -> None:
        super().anything_may_change()
        self.layer_hooks.doubt()

    # --- calls ---------------------------------------------------------------------------------------------------

    def python_call(
        self, function: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None,
        kind: type | None = None, effect: bool = False,
    ) -> ObjectVariable:
        effect = effect or self.late_arrays.may_change(args)
        with self.late_arrays.handed_to(function, args):
            result = super().python_call(function, args, kwargs, kind, effect)
        self.late_arrays.note(result, function, args, kwargs or {})
        self.foreign_results.note(result, function, args)
        self.shown_objects.note(result, function, args, kwargs or {})
        self.note_of_element(result, function, args)
        if self.object_specs and any(function is known for known in _KEEP_SPEC):
            specs = {self.object_specs.get(arg.value) for arg in args if isinstance(arg, ObjectVariable)} - {None}
            if len(specs) == 1 and all(_is_number(arg) or arg.value in self.object_specs for arg in args):
                self.object_specs[result.value] = specs.pop()  # type: ignore[assignment]
        # What gives an object of no known kind may compute with Tensors.
        if state.grad_enabled is not self.grad_mode and (effect or result.value.kind is None):
            self.definitions[result.value][0].attrs["grad_mode"] = state.grad_enabled
        return result

    def may_raise_more(self) -> bool:
        return self.foreign_results.are_computed_with

    def leave_grad_mode(self) -> None:
        """At the end of a path: its grad mode is what the run leaves behind."""
        if state.grad_enabled is not self.grad_mode:
            super().python_call(set_grad_mode, (state.grad_enabled,), effect=True)

    # --- what a Program has to make anew when it runs ------------------------------------------------------------

    def lower(self, tree: Any) -> Any:
        return self.lowering(tree)

    def py_layer(self, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``layer.apply(*args, **kwargs)`` of a PyLayer."""
        from d2s.operators.custom_ops import apply_py_layer

        return apply_py_layer(self, layer, args, kwargs)

    def serve_one_call(self) -> None:
        """Note that code of d2s makes a parameter or buffer, or enters one in a Layer."""
        from d2s.operators.new_state import serve_one_call

        serve_one_call(self)

    def new_parameter(
        self, initializer: Any, shape: tuple[int, ...], dtype: DType, make: Callable[[Any], Any]
    ) -> Any:
        """The parameter that `make` makes of its first values, those of `initializer`."""
        from d2s.operators.new_state import new_parameter

        return new_parameter(self, initializer, shape, dtype, make)

    def note_copy(self, original: Any, copy: Any) -> None:
        """Note that code of d2s has made a deep copy of a tensor."""
        from d2s.operators.new_state import copied

        copied(self, original, copy)

    def recompute(
        self, again: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], keep_rng: bool
    ) -> Any:
        """``autograd.recompute(function, *args, **kwargs)``."""
        from d2s.operators.custom_ops import recompute

        return recompute(self, again, function, args, kwargs, keep_rng)

    # --- layers --------------------------------------------------------------------------------------------------

    def known_if_possible(self, size: Any) -> None:
        """Take a size as it is, in another trace if need be, if it is that of an argument which is there."""
        self.sizes.need_values(self.sizes.behind((size,)))

    def while_loop(self, cond: Any, body: Any, loop_vars: list[Any]) -> list[Any]:
        """``static.nn.while_loop(...)`` for code of d2s that is not converted."""
        from d2s.operators.calls import call
        from d2s.static.nn import while_loop

        found: list[Any] = call(while_loop, cond, body, loop_vars)
        return found

    def call_layer(self, layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call of a Layer, from traced code or from a Layer that is not traced itself (a container)."""
        from d2s.operators import access
        from d2s.operators.calls import call

        self.remember(layer, Constant(layer))
        self.guard_held(type(layer), "__call__")
        access.attr(self, layer, "forward")
        # Hooks may store settings before `forward` reads them: what it depends on is noted when it is called.
        self.guard_layer(layer, policy.is_own(type(layer).forward.__code__) and not layer._forward_pre_hooks)
        self.layer_hooks.before_call(layer)
        for table in (layer._forward_pre_hooks, layer._forward_post_hooks):
            for hook in table.values():
                # What a hook belongs to is as old as the hook.
                self.remember(hook.function, Constant(hook.function))

        def called(function: Any, *inputs: Any, **named: Any) -> Any:
            result = call(function, *inputs, **named)
            hooks = self.layer_hooks.functions(layer)
            if isinstance(result, ObjectVariable) and any(function is hook for hook in hooks):
                raise TracingError(
                    f"what the layer hook {getattr(function, '__qualname__', function)} returns is known only when the "
                    "Program runs: it cannot be told whether it replaces anything", user_location(),
                    "Return None or a tensor.",
                    kind="T05",
                )
            return result

        return layer.call_traced(called, self.layer_hooks.now, args, kwargs)

    def add_layer_hook(self, layer: Any, table: Any, register: Any, hook: Any, options: dict[str, Any]) -> Any:
        """Register a hook on a Layer when the Program runs; None for a Layer of this trace, which gets it at once."""
        return None if self.layer_hooks.is_young(layer) else self.layer_hooks.add(layer, table, register, hook, options)

    def remove_layer_hook(self, handle: Any, table: Any, number: int) -> bool:
        """Remove a hook from a Layer when the Program runs; False for a Layer of this trace."""
        if self.source_of(handle) is None:
            return False
        self.layer_hooks.remove(handle, table, number)
        return True

    def note_setting(self, reader: Any, *args: Any) -> None:
        """Note that the trace depends on what a function of d2s says of its settings."""
        self.guards.add(Guard(
            Constant(reader), "{v}(*{k0}) is {k1}", (args, reader(*args)), f"{reader.__name__}{args}"))

    def guard_layer(self, layer: Any, whole: bool) -> None:
        """Note what the trace depends on by using a Layer, or (`whole`) by running code of d2s on it."""
        for registry in REGISTRIES if whole else ():
            held = layer.__dict__[registry]
            for name, tensor in held.items():
                if tensor is not None:
                    self.read(Item(layer_guards.path_to(layer, registry), name), tensor, getattr, layer, name)
        stored = frozenset(place[2] for place in self.pending if place[:2] == (id(layer), "attr"))
        for guard in layer_guards.guards_of(layer, whole, stored):
            self.guards.add(guard)
        if type(layer) not in self.guards.layer_classes:
            self.guards.layer_classes.add(type(layer))
            for guard in layer_guards.class_guards(type(layer)):
                self.guards.add(guard)
        if whole:
            # Its hooks have checks of their own.
            held_by = layer_guards.held_by
            self.check_still(
                ("layer", id(layer), stored), held_by, (layer, stored), held_by(layer, stored),
                f"the structure of a {type(layer).__name__}")


def current_tracer() -> Tracer | None:
    """The tracer that is recording on this thread, if any."""
    current = state.current
    return current if isinstance(current, Tracer) else None
