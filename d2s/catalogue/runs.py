"""Programs that are run in a way that they cannot be run."""

from d2s.catalogue.kind import Family

execution = Family("ExecutionError")

KINDS = (
    execution(
        "X01",
        "Untraced code has changed a container",
        cause="A function that is not traced got a list, dict or set that the static function had made, and changed "
        "it.",
        fix="Let it return a new one, or convert it too.",
        example="""
            @paddle.jit.not_to_static
            def extend(found):
                found.append(1)

            @paddle.jit.to_static
            def f(x):
                found = [x]
                extend(found)
                return found

            f(paddle.ones([1]))
        """,
        fixed="""
            @paddle.jit.not_to_static
            def extend(found):
                return [*found, 1]

            @paddle.jit.to_static
            def f(x):
                return extend([x])

            f(paddle.ones([1]))
        """,
    ),
    execution(
        "X02",
        "py_func returned something else",
        cause="The function of a `py_func` returned another number of results, or another shape or dtype, than its "
        "outputs were declared with.",
        fix="Return what is declared, or declare what is returned.",
        example="""
            from d2s import static

            paddle.enable_static()
            x = static.data("x", [2])
            out = static.default_main_program().current_block().create_var(name="out", shape=[2], dtype="float32")
            static.py_func(lambda x: x.sum(), x, out)
            static.Executor().run(feed={"x": [1.0, 2.0]}, fetch_list=[out])
        """,
        fixed="""
            from d2s import static

            paddle.enable_static()
            x = static.data("x", [2])
            out = static.default_main_program().current_block().create_var(name="out", shape=[2], dtype="float32")
            static.py_func(lambda x: 2 * x, x, out)
            static.Executor().run(feed={"x": [1.0, 2.0]}, fetch_list=[out])
        """,
    ),
    execution(
        "X03",
        "A traced Program is run by an Executor",
        cause="A Program that was made from a function needs the guards and captured tensors of that function.",
        fix="Call the function.",
        example="""
            @paddle.jit.to_static
            def f(x):
                return 2 * x

            f(paddle.ones([1]))
            paddle.static.Executor().run(f.main_program)
        """,
        fixed="""
            @paddle.jit.to_static
            def f(x):
                return 2 * x

            f(paddle.ones([1]))
        """,
    ),
    execution(
        "X04",
        "Nothing to fetch",
        cause="`fetch_list` names a variable that the Program does not have, or that no operator defines.",
        fix="Fetch a variable of this Program; `print(program)` shows them.",
        example="""
            paddle.enable_static()
            x = paddle.static.data("x", [1])
            paddle.static.Executor().run(feed={"x": [1.0]}, fetch_list=["y"])
        """,
        fixed="""
            paddle.enable_static()
            x = paddle.static.data("x", [1])
            paddle.static.Executor().run(feed={"x": [1.0]}, fetch_list=[2 * x])
        """,
    ),
    execution(
        "X05",
        "A feed that is missing or unknown",
        cause="The run needs an input that is not in `feed`, or `feed` names an input that the Program does not have.",
        fix="Feed the inputs that were declared with `static.data`.",
        example="""
            paddle.enable_static()
            x = paddle.static.data("x", [1])
            paddle.static.Executor().run(fetch_list=[2 * x])
        """,
        fixed="""
            paddle.enable_static()
            x = paddle.static.data("x", [1])
            paddle.static.Executor().run(feed={"x": [1.0]}, fetch_list=[2 * x])
        """,
    ),
    execution(
        "X06",
        "A parameter without values",
        cause="A parameter of a Program gets its values from the startup Program, which has not run.",
        fix="Run `static.default_startup_program()` first.",
        example="""
            paddle.enable_static()
            weight = paddle.static.create_parameter([1], "float32")
            paddle.static.Executor().run(fetch_list=[weight])
        """,
        fixed="""
            paddle.enable_static()
            weight = paddle.static.create_parameter([1], "float32")
            executor = paddle.static.Executor()
            executor.run(paddle.static.default_startup_program())
            executor.run(fetch_list=[weight])
        """,
    ),
    execution(
        "X07",
        "State that an untraced call has changed",
        cause="A call that is not traced changed an object or global from outside, and the static function reads it "
        "later in the same run, where its trace had assumed the old value.",
        fix="Let the call return what it changes, or convert it too.",
        example="""
            class State:
                count = 0

            state = State()

            @paddle.jit.not_to_static
            def step():
                state.count += 1

            @paddle.jit.to_static
            def f(x):
                step()
                return x * state.count

            f(paddle.ones([1]))
            f(paddle.ones([1]))
        """,
        fixed="""
            class State:
                count = 0

            state = State()

            def step():
                state.count += 1

            @paddle.jit.to_static
            def f(x):
                step()
                return x * state.count

            f(paddle.ones([1]))
            f(paddle.ones([1]))
        """,
    ),
    execution(
        "X12",
        "A tensor that an untraced call has written to",
        cause="A call that is not traced has written in place to a tensor. Tensors are read again behind it, but which "
        "one of several was written to, or to what a turn or branch has made, only the run knows; and if the call has "
        "given the tensor a history, the static function has no gradient of that.",
        fix="Let the call return what it computes, or convert it too.",
        example="""
            @paddle.jit.not_to_static
            def shift(t):
                t.add_(paddle.ones([1]))

            @paddle.jit.to_static
            def f(x):
                y = 2 * x
                z = y if x.sum() > 0 else x
                shift(z)
                return y * z

            f(paddle.ones([1]))
        """,
        fixed="""
            @paddle.jit.not_to_static
            def shifted(t):
                return t + 1

            @paddle.jit.to_static
            def f(x):
                y = 2 * x
                z = shifted(y if x.sum() > 0 else x)
                return y * z

            f(paddle.ones([1]))
        """,
    ),
    execution(
        "X08",
        "Something of the run that is no number",
        cause="What a function of a library gives, or what a hook has put into a list or variable, was combined with a "
        "tensor; when the Program ran it turned out to be no number, nor a tensor that can be broadcast to it.",
        fix="Convert the function that makes it, or pass the value as an argument.",
        example="""
            import random

            @paddle.jit.to_static
            def f(x):
                return x * random.choice([[2.0], [3.0]])

            f(paddle.ones([1]))
        """,
        fixed="""
            import random

            @paddle.jit.to_static
            def f(x):
                return x * random.choice([2.0, 3.0])

            f(paddle.ones([1]))
        """,
    ),
    execution(
        "X09",
        "A Layer that was saved for evaluation only",
        cause="The training mode of the Layer could not be saved, so that only its evaluation was.",
        fix="Call `eval()` on what was loaded; the message says what could not be saved.",
        example="""
            import os
            import tempfile

            log = []

            class Model(paddle.nn.Layer):
                def forward(self, x):
                    if self.training:
                        log.append(x)
                    return 2 * x

            with tempfile.TemporaryDirectory() as folder:
                place = os.path.join(folder, "model")
                paddle.jit.save(Model(), place, input_spec=[paddle.ones([1])])
                layer = paddle.jit.load(place)
            layer.train()
            layer(paddle.ones([1]))
        """,
    ),
    execution(
        "X10",
        "A tensor that a hook has changed",
        cause="`backward()` was called inside of a static function, and a hook set `stop_gradient` of a tensor that "
        "this has made, or its shape; or it wrote to one that this has taken of a container. The lines after "
        "it would go on with what it was before.",
        fix="Let the hook return what it computes, or call `backward()` outside.",
        example="""
            @paddle.jit.to_static
            def f(x):
                total = paddle.zeros([1])

                def needs_gradient(g):
                    total.stop_gradient = False

                x.register_hook(needs_gradient)
                (x * x).sum().backward()
                return total * 1

            f(paddle.to_tensor([1.0], stop_gradient=False))
        """,
        fixed="""
            @paddle.jit.to_static
            def f(x):
                total = paddle.zeros([1])

                def needs_gradient(g):
                    total.stop_gradient = False

                x.register_hook(needs_gradient)
                return (x * x).sum(), total

            loss, total = f(paddle.to_tensor([1.0], stop_gradient=False))
            loss.backward()
        """,
    ),
    execution(
        "X11",
        "A list that holds something else",
        cause="What is read of a list that a loop on a tensor fills has the dtype and shape that all elements had "
        "which the traced code has put into it. A function that is not traced has put something else there.",
        fix="Put the same kind of tensor into the list everywhere.",
        example="""
            outside = []

            @paddle.jit.not_to_static
            def change():
                outside[0][0] = paddle.ones([2, 2])

            @paddle.jit.to_static
            def f(x):
                found = []
                outside.append(found)
                for _ in range(paddle.to_tensor(2)):
                    found.append(x)
                change()
                return found[0] * x

            f(paddle.ones([1]))
        """,
    ),
)
