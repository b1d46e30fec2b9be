"""Failures to trace a function: Python needs what is known only when the Program runs; no source is found."""

from d2s.catalogue.kind import Family

tracing, source = Family("TracingError"), Family("SourceError")

KINDS = (
    tracing(
        "T01",
        "Python needs the values of a tensor",
        cause="While a function is traced its tensors have no values yet, and Python asked for some: for a number, an "
        "array, or a truth value in a place that is not converted.",
        fix="Use tensor operators; or mark the function that needs the values with `@paddle.jit.not_to_static`.",
        example="""
            @paddle.jit.to_static
            def letters(x):
                return "ab" * x

            letters(paddle.to_tensor(1))
        """,
        fixed="""
            @paddle.jit.not_to_static
            def letters_of(x):
                return "ab" * x

            @paddle.jit.to_static
            def letters(x):
                return letters_of(x)

            letters(paddle.to_tensor(1))
        """,
    ),
    tracing(
        "T02",
        "Python needs a value of the run",
        cause="A Python value that was computed from a tensor (`x.item()`, `int(x)`, a result of an untraced call) is "
        "used where Python needs it at once: as the step of a slice of a tuple, name of an attribute.",
        fix="Slice a tensor or list in place of a tuple, or put that part into a function marked "
        "`@paddle.jit.not_to_static`, which is called in every run.",
        example="""
            @paddle.jit.to_static
            def names_of(x):
                return ("a", "b")[:: int(x.sum())]

            names_of(paddle.to_tensor([1.0]))
        """,
        fixed="""
            @paddle.jit.not_to_static
            def first(x):
                return ("a", "b")[:: int(x.sum())]

            @paddle.jit.to_static
            def names_of(x):
                return first(x)

            names_of(paddle.to_tensor([1.0]))
        """,
    ),
    tracing(
        "T03",
        "A symbolic tensor was kept",
        cause="A tensor of one Program is used in another: it was kept somewhere while its function was traced, or "
        "belongs to another Program that was built by hand; or an object that the function makes, such as a "
        "TensorDataset, holds it and uses it when the Program runs.",
        fix="Compute the value again, or feed it as an input; make the object outside of the function.",
        example="""
            from d2s import static

            paddle.enable_static()
            with static.program_guard(static.Program()):
                x = static.data("x", [1])
            with static.program_guard(static.Program()):
                y = static.data("y", [1])
                x + y
        """,
        fixed="""
            from d2s import static

            paddle.enable_static()
            with static.program_guard(static.Program()):
                x = static.data("x", [1])
                y = static.data("y", [1])
                x + y
        """,
    ),
    tracing(
        "T04",
        "A tensor of something the run makes",
        cause="`to_tensor` of an array or object that is made anew in each run: its shape and dtype are not known "
        "while tracing.",
        fix="Make the tensor outside and pass it in, or use the random operators of d2s.",
        example="""
            import numpy as np

            @paddle.jit.to_static
            def noisy(x):
                return x + paddle.to_tensor(np.random.rand(2).astype("float32"))

            noisy(paddle.ones([2]))
        """,
        fixed="""
            @paddle.jit.to_static
            def noisy(x):
                return x + paddle.rand([2])

            noisy(paddle.ones([2]))
        """,
    ),
    tracing(
        "T05",
        "What a Layer hook returns is not known",
        cause="A forward hook of a Layer that is not traced returned a value of the run, and it decides whether the "
        "output is replaced.",
        fix="Return None or a tensor from the hook.",
        example="""
            layer = paddle.nn.Linear(2, 2)

            @paddle.jit.not_to_static
            def hook(layer, inputs, output):
                return None

            layer.register_forward_post_hook(hook)
            net = paddle.jit.to_static(paddle.nn.Sequential(layer))
            net(paddle.ones([1, 2]))
        """,
        fixed="""
            layer = paddle.nn.Linear(2, 2)

            def hook(layer, inputs, output):
                return output

            layer.register_forward_post_hook(hook)
            paddle.jit.to_static(layer)(paddle.ones([1, 2]))
        """,
    ),
    tracing(
        "T06",
        "A match statement on a value of the run",
        cause="`match` looks into things without asking d2s. A value that is known only when the Program runs can be "
        "compared, and asked for its class (`case int(k):`, `case float() | str():`), but not as a part of something "
        "that a pattern takes apart. Objects from outside, which might change, cannot be taken apart either.",
        fix="Use `if`, `isinstance` and attributes.",
        example="""
            @paddle.jit.to_static
            def f(x):
                match x.item(), 1:
                    case float(), 1:
                        return x
                    case _:
                        return 2 * x

            f(paddle.to_tensor([1.0]))
        """,
        fixed="""
            @paddle.jit.to_static
            def f(x):
                match x.item():
                    case float():
                        return x
                    case _:
                        return 2 * x

            f(paddle.to_tensor([1.0]))
        """,
    ),
    tracing(
        "T07",
        "A range of unknown length is spread out",
        cause="A `range` whose length is known only when the Program runs can be looped over, indexed, spread out in a "
        "call and made a list; a generator expression with two `for`, or inside another one, needs all of it at once, "
        "and so does a `for` in a generator function, which goes on as plain Python.",
        fix="Make it a list first; let a function return a list in place of a generator.",
        example="""
            @paddle.jit.to_static
            def f(n):
                return sum(a * b for a in range(n) for b in range(n))

            f(paddle.to_tensor(3))
        """,
        fixed="""
            @paddle.jit.to_static
            def f(n):
                return sum([a * b for a in range(n) for b in range(n)])

            f(paddle.to_tensor(3))
        """,
    ),
    tracing(
        "T08",
        "isinstance of an unknown result",
        cause="The class of what a function of a library returns is known only when the Program runs. It can be asked "
        "for numbers, text and None, but for no other class.",
        fix="Ask inside of a function marked `@paddle.jit.not_to_static`, and call that.",
        example="""
            import random

            @paddle.jit.to_static
            def f(x):
                if isinstance(random.choice(["yes", ["no"]]), list):
                    return x
                return 2 * x

            f(paddle.ones([1]))
        """,
    ),
    tracing(
        "T09",
        "Code that is not traced reads a tensor from outside",
        cause="While a function is traced, code that is not converted asks a tensor from outside for its values. The "
        "Program would keep them, whatever the tensor holds later.",
        fix="Pass the tensor as it is, or mark the function `@paddle.jit.not_to_static`.",
        example="""
            weight = paddle.to_tensor([1.0])

            class Field:
                def __mro_entries__(self, bases):
                    self.scale = float(weight)
                    return ()

            @paddle.jit.to_static
            def f(x):
                field = Field()

                class Model(field):
                    pass

                return x * field.scale

            f(paddle.ones([1]))
        """,
        fixed="""
            weight = paddle.to_tensor([1.0])

            class Field:
                def __mro_entries__(self, bases):
                    self.scale = weight
                    return ()

            @paddle.jit.to_static
            def f(x):
                field = Field()

                class Model(field):
                    pass

                return x * field.scale

            f(paddle.ones([1]))
        """,
    ),
    source(
        "F01",
        "No source",
        cause="`to_static` reads the source of a function, and there is none: it was made by `exec`, `eval` or "
        "`python -c`, typed at a prompt that keeps no source, or its file is gone. Or several lambdas stand on one "
        "line, and Python was started without the columns that tell them apart (`-X no_debug_ranges`).",
        fix="Put the function into a file, on a line of its own.",
        example="""
            names = {}
            exec(compile("def f(x): return x", "<generated>", "exec"), names)
            paddle.jit.to_static(names["f"])
        """,
    ),
    source(
        "F02",
        "No Python function",
        cause="`to_static` converts Python functions, methods, partials and Layers; a class or a function written in C "
        "has nothing to convert.",
        fix="Call it from a Python function and convert that.",
        example="paddle.jit.to_static(len)",
        fixed="""
            @paddle.jit.to_static
            def length(x):
                return len(x)
        """,
    ),
    source(
        "F03",
        "The file has changed",
        cause="The file of the function is not the one that was loaded: it was edited after the import.",
        fix="Start Python again.",
        example="""
            from pathlib import Path

            def f(x):
                return x

            Path(f.__code__.co_filename).write_text("# the editor saved something else")
            paddle.jit.to_static(f)
        """,
    ),
)
