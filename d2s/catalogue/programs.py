"""Calls that do not fit, and Programs that are not legal."""

from d2s.catalogue.kind import Family

guard, program = Family("GuardError"), Family("ProgramError")

KINDS = (
    guard(
        "C01",
        "input_spec has another number of entries",
        cause="`input_spec` describes the arguments in order; it has more entries than there are arguments.",
        fix="One entry for each argument, in order.",
        example="""
            spec = paddle.static.InputSpec([1])

            @paddle.jit.to_static(input_spec=[spec, spec])
            def f(x):
                return 2 * x

            f(paddle.ones([1]))
        """,
        fixed="""
            spec = paddle.static.InputSpec([1])

            @paddle.jit.to_static(input_spec=[spec])
            def f(x):
                return 2 * x

            f(paddle.ones([1]))
        """,
    ),
    guard(
        "C02",
        "An argument does not fit input_spec",
        cause="An argument has another shape, dtype or kind than `input_spec` says.",
        fix="Pass what the spec says, or give free sizes as None in the spec.",
        example="""
            @paddle.jit.to_static(input_spec=[paddle.static.InputSpec([2])])
            def f(x):
                return 2 * x

            f(paddle.ones([3]))
        """,
        fixed="""
            @paddle.jit.to_static(input_spec=[paddle.static.InputSpec([None])])
            def f(x):
                return 2 * x

            f(paddle.ones([3]))
        """,
    ),
    guard(
        "C03",
        "An argument does not fit a loaded Layer",
        cause="A Layer from `paddle.jit.load` takes what it was saved for: the same structure, shapes, dtypes and "
        "Python values.",
        fix="Save it with free sizes (None in `InputSpec`), or pass what it was saved for.",
        example="""
            import os
            import tempfile

            spec = [paddle.static.InputSpec([1, 2])]
            with tempfile.TemporaryDirectory() as folder:
                place = os.path.join(folder, "model")
                paddle.jit.save(paddle.nn.Linear(2, 2), place, input_spec=spec)
                layer = paddle.jit.load(place)
            layer(paddle.ones([5, 2]))
        """,
        fixed="""
            import os
            import tempfile

            spec = [paddle.static.InputSpec([None, 2])]
            with tempfile.TemporaryDirectory() as folder:
                place = os.path.join(folder, "model")
                paddle.jit.save(paddle.nn.Linear(2, 2), place, input_spec=spec)
                layer = paddle.jit.load(place)
            layer(paddle.ones([5, 2]))
        """,
    ),
    guard(
        "C04",
        "save() without input_spec",
        cause="`paddle.jit.save` traces the function, for which it has to know the arguments.",
        fix="Pass `input_spec`; an example will do.",
        example="""
            paddle.jit.save(paddle.nn.Linear(2, 2), "model")
        """,
        fixed="""
            import os
            import tempfile

            with tempfile.TemporaryDirectory() as folder:
                layer = paddle.nn.Linear(2, 2)
                paddle.jit.save(layer, os.path.join(folder, "model"), input_spec=[paddle.ones([1, 2])])
        """,
    ),
    program(
        "P01",
        "A Program that is not legal",
        cause="A Program uses a value that nothing defines, or breaks another rule of Programs. The message names the "
        "operator and, if a pass made it so, the pass. If you have not written a pass, it is a bug of d2s.",
        fix="Correct the pass. If there is none of yours, report the message together with the function.",
        example="""
            from d2s.core.spec import TensorSpec
            from d2s.static.program import Block, Program, Value
            from d2s.static.verify import verify

            nowhere = Value("y", TensorSpec((1,), paddle.float32))
            verify(Program("broken", Block((), (), (nowhere,))))
        """,
    ),
    program(
        "P02",
        "py_func is declared wrongly",
        cause="`py_func` needs an input or an output; its outputs must be new; and what its backward is not given "
        "must be an input or output of it.",
        fix="Make the outputs with `program.current_block().create_var(...)`.",
        example="""
            from d2s import static

            paddle.enable_static()
            x = static.data("x", [1])
            static.py_func(lambda x: x, x, x)
        """,
        fixed="""
            from d2s import static

            paddle.enable_static()
            x = static.data("x", [1])
            block = static.default_main_program().current_block()
            static.py_func(lambda x: x, x, block.create_var(name="y", shape=[1], dtype="float32"))
        """,
    ),
    program(
        "P03",
        "A name that is taken, or unknown",
        cause="Names in a Program are unique: a second input of the same name, or a variable that is not there.",
        fix="Choose another name; `print(program)` shows those there are.",
        example="""
            paddle.enable_static()
            paddle.static.data("x", [1])
            paddle.static.data("x", [2])
        """,
        fixed="""
            paddle.enable_static()
            paddle.static.data("x", [1])
            paddle.static.data("y", [2])
        """,
    ),
    program(
        "P04",
        "stop_gradient is set too late",
        cause="In a Program built by hand, an operator that has used the variable has taken over its "
        "`stop_gradient`.",
        fix="Set it directly after the variable is made.",
        example="""
            paddle.enable_static()
            x = paddle.static.data("x", [1])
            y = 2 * x
            x.stop_gradient = False
        """,
        fixed="""
            paddle.enable_static()
            x = paddle.static.data("x", [1])
            x.stop_gradient = False
            y = 2 * x
        """,
    ),
    program(
        "P05",
        "A traced Program cannot be added to",
        cause="The Program was made from a function; operators cannot be appended by hand.",
        fix="Change the function.",
        example="""
            @paddle.jit.to_static
            def f(x):
                return 2 * x

            f(paddle.ones([1]))
            with paddle.static.program_guard(f.main_program):
                paddle.static.data("y", [1])
        """,
    ),
    program(
        "P06",
        "disable_static() in the wrong place",
        cause="Static mode cannot be left inside of `program_guard` or of a function that is traced.",
        fix="Leave the block first.",
        example="""
            paddle.enable_static()
            with paddle.static.program_guard(paddle.static.Program()):
                paddle.disable_static()
        """,
        fixed="""
            paddle.enable_static()
            with paddle.static.program_guard(paddle.static.Program()):
                pass
            paddle.disable_static()
        """,
    ),
    program(
        "P07",
        "append_backward with callbacks",
        cause="`callbacks` of `append_backward` are not supported.",
        fix="Register gradient hooks on the variables.",
        example="""
            paddle.enable_static()
            x = paddle.static.data("x", [1])
            x.stop_gradient = False
            paddle.static.append_backward(2 * x, callbacks=[print])
        """,
        fixed="""
            paddle.enable_static()
            x = paddle.static.data("x", [1])
            x.stop_gradient = False
            x.register_hook(print)
            paddle.static.append_backward(2 * x)
        """,
    ),
    program(
        "P08",
        "A Program that cannot be saved",
        cause="A saved Program holds tensors, numbers, texts and operators. It cannot hold Python code of yours, such "
        "as hooks, `py_func` or calls that are not traced, nor objects that it reads when it runs.",
        fix="Keep these out of `forward`, or pass what is read as an argument.",
        example="""
            log = []

            class Noisy(paddle.nn.Layer):
                def forward(self, x):
                    log.append(x)
                    return 2 * x

            paddle.jit.save(Noisy(), "model", input_spec=[paddle.ones([1])])
        """,
        fixed="""
            import os
            import tempfile

            class Quiet(paddle.nn.Layer):
                def forward(self, x):
                    return 2 * x

            with tempfile.TemporaryDirectory() as folder:
                paddle.jit.save(Quiet(), os.path.join(folder, "model"), input_spec=[paddle.ones([1])])
        """,
    ),
    program(
        "P09",
        "Functions given to control flow that do not fit",
        cause="In a Program the branches of `cond` give the same structure of tensors with equal dtypes, the body of "
        "`while_loop` returns what it was given, and every function of `switch_case` has a number of its own.",
        fix="Return the same from every function; cast where dtypes differ.",
        example="""
            with paddle.static.program_guard(paddle.static.Program()):
                x = paddle.static.data("x", [2])
                paddle.static.nn.cond(x.sum() > 0, lambda: x, lambda: [x, x])
        """,
        fixed="""
            with paddle.static.program_guard(paddle.static.Program()):
                x = paddle.static.data("x", [2])
                paddle.static.nn.cond(x.sum() > 0, lambda: [x, -x], lambda: [x, x])
        """,
    ),
    program(
        "P10",
        "A write in place inside of a branch",
        cause="In a Program that is built by hand a branch or loop gives its results by returning them: a write in "
        "place to what was made outside would be seen outside.",
        fix="Return the new value.",
        example="""
            with paddle.static.program_guard(paddle.static.Program()):
                x = paddle.static.data("x", [2])
                y = 2 * x
                paddle.static.nn.cond(x.sum() > 0, lambda: y.add_(x), lambda: y)
        """,
        fixed="""
            with paddle.static.program_guard(paddle.static.Program()):
                x = paddle.static.data("x", [2])
                y = 2 * x
                y = paddle.static.nn.cond(x.sum() > 0, lambda: y + x, lambda: y)
        """,
    ),
    program(
        "P11",
        "Values in a Program that is built by hand",
        cause="Python or NumPy asks a variable of a Program that is built by hand for its values, which a run has, "
        "as a number, an array, a text or a truth value.",
        fix="Fetch the variable, or let the Program compute with it: by operators, `static.nn.cond`, "
        "`static.nn.while_loop` or `static.py_func`.",
        example="""
            import numpy as np

            with paddle.static.program_guard(paddle.static.Program()):
                x = paddle.static.data("x", [2])
                y = np.sin(x)
        """,
        fixed="""
            with paddle.static.program_guard(paddle.static.Program()):
                x = paddle.static.data("x", [2])
                y = paddle.sin(x)
        """,
    ),
)
