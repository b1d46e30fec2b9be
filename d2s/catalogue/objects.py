"""What cannot become a graph because of the objects it reads and changes: writes, effects, containers."""

from d2s.catalogue.kind import Family

syntax = Family("UnsupportedSyntaxError")

KINDS = (
    syntax(
        "U01",
        "backward() of a variable",
        cause="In a Program that is built by hand, `backward()` has no meaning: nothing has been computed yet.",
        fix="Use `append_backward` or `gradients`.",
        example="""
            paddle.enable_static()
            x = paddle.static.data("x", [1])
            x.backward()
        """,
        fixed="""
            paddle.enable_static()
            x = paddle.static.data("x", [1])
            x.stop_gradient = False
            paddle.static.gradients([x * x], [x])
        """,
    ),
    syntax(
        "U03",
        "backward() or grad() of variables of a Program that is built by hand",
        cause="`paddle.grad` and `paddle.autograd.backward` walk over what was computed; a Program that is built by "
        "hand has not computed anything yet.",
        fix="Use `static.append_backward` or `static.gradients`.",
        example="""
            with paddle.static.program_guard(paddle.static.Program()):
                x = paddle.static.data("x", [2], "float32")
                x.stop_gradient = False
                paddle.grad(x * x, [x])
        """,
        fixed="""
            with paddle.static.program_guard(paddle.static.Program()):
                x = paddle.static.data("x", [2], "float32")
                x.stop_gradient = False
                paddle.static.gradients([x * x], [x])
        """,
    ),
    syntax(
        "U04",
        "A changed container is read as a whole",
        cause="A list, dict or set from outside was changed in this call, which happens when the Program runs, and is "
        "then looped over, stacked or compared as a whole.  Known before is only what `held[0] = ...`, "
        "`table['key'] = ...` and `append` have stored, beside tensors and numbers.  Or a tensor of integers meets "
        "what may be any tensor: an element of such a container, a variable that a loop leaves as None or a tensor.",
        fix="Read it before the change, or read single elements.",
        example="""
            history = {}

            @paddle.jit.to_static
            def remember(x):
                history.update([("last", x)])
                return {**history, "now": x}

            remember(paddle.ones([1]))
        """,
        fixed="""
            history = {}

            @paddle.jit.to_static
            def remember(x):
                history["last"] = x
                return {**history, "now": x}

            remember(paddle.ones([1]))
        """,
    ),
    syntax(
        "U05",
        "A dict is changed while a view of it is in use",
        cause="`keys()`, `values()` and `items()` show later changes of their dict, and a change of a dict from "
        "outside happens only when the Program runs.",
        fix="Make a list of the view before the change, or ask for the view again after it.",
        example="""
            table = {"a": 1}

            @paddle.jit.to_static
            def f(x):
                names = table.keys()
                table["b"] = 2
                return x, names

            f(paddle.ones([1]))
        """,
        fixed="""
            table = {"a": 1}

            @paddle.jit.to_static
            def f(x):
                names = list(table.keys())
                table["b"] = 2
                return x, names

            f(paddle.ones([1]))
        """,
    ),
    syntax(
        "U08",
        "A write to what turns may have made a tensor from outside with views",
        cause="A write in place to a variable that a turn of a loop may have made a tensor from outside, where that "
        "has views or is one.",
        fix="Write to the tensor from outside by its own name, or to a clone.",
        example="""
            total = paddle.zeros([2])
            first = total[0:1]

            @paddle.jit.to_static
            def add(x):
                kept = x.clone()
                while x.sum() > 1:
                    x = x / 2
                    kept = total
                kept.add_(x)
                return first

            add(paddle.to_tensor([8.0, 1.0]))
        """,
        fixed="""
            total = paddle.zeros([2])
            first = total[0:1]

            @paddle.jit.to_static
            def add(x):
                turns = 0
                while x.sum() > 1:
                    x = x / 2
                    turns += 1
                if turns > 0:
                    total.add_(x)
                return first

            add(paddle.to_tensor([8.0, 1.0]))
        """,
    ),
    syntax(
        "U09",
        "__dict__ of a changed object",
        cause="An attribute of an object from outside is set in this call, and its `__dict__` (or `vars()`) is used "
        "as well.",
        fix="Use `getattr` and `setattr`, or the names of the attributes.",
        example="""
            class State:
                step = 0

            state = State()

            @paddle.jit.to_static
            def f(x):
                state.step += 1
                return x * len(vars(state))

            f(paddle.ones([1]))
        """,
    ),
    syntax(
        "U10",
        "Tensors as keys",
        cause="A dict or set from outside has tensors as keys or members. A Program finds tensors by their place, and "
        "a key is no place.",
        fix="Use names or numbers as keys.",
        example="""
            weight = paddle.ones([1])
            scales = {weight: 2.0}

            @paddle.jit.to_static
            def f(x):
                for key in scales:
                    x = x * key
                return x

            f(paddle.ones([1]))
        """,
        fixed="""
            weight = paddle.ones([1])
            scales = {"weight": weight}

            @paddle.jit.to_static
            def f(x):
                for key in scales:
                    x = x * scales[key]
                return x

            f(paddle.ones([1]))
        """,
    ),
    syntax(
        "U12",
        "A write to one of several tensors that cannot be followed",
        cause="A write in place to a tensor that is one of several, which one being known only when the Program runs; "
        "and among them is one from outside, or a view that a turn of a loop on a tensor has made of a tensor that is "
        "not there behind it, or several such views.",
        fix="Take the view behind the loop, write in the turns, or write to a clone.",
        example="""
            @paddle.jit.to_static
            def f(x, n):
                y = x * 2
                part = y[0:1]
                while n > 0:
                    y = y * 2
                    part, n = y[1:2], n - 1
                part.add_(x[0:1])
                return y

            f(paddle.ones([2]), paddle.to_tensor(1))
        """,
        fixed="""
            @paddle.jit.to_static
            def f(x, n):
                y = x * 2
                while n > 0:
                    y, n = y * 2, n - 1
                part = y[1:2]
                part.add_(x[0:1])
                return y

            f(paddle.ones([2]), paddle.to_tensor(1))
        """,
    ),
    syntax(
        "U13",
        "A cached function that is given a tensor",
        cause="A function behind `functools.lru_cache` tells tensors apart by which object they are.  Given the same "
        "one again, a parameter for example, it gives what it gave before, also when the values have changed.",
        fix="Give it the sizes or numbers that it needs, or call what is cached, its `__wrapped__`.",
        example="""
            import functools

            @functools.cache
            def doubled(x):
                return x * 2

            @paddle.jit.to_static
            def f(x):
                return doubled(x) + 1

            f(paddle.ones([1]))
        """,
        fixed="""
            import functools

            @functools.cache
            def scale(size):
                return 2 / size

            @paddle.jit.to_static
            def f(x):
                return x * scale(x.shape[0]) + 1

            f(paddle.ones([1]))
        """,
    ),
    syntax(
        "U14",
        "A PyLayer that returns something else",
        cause="In a static function, `forward` of a `PyLayer` has to return tensors.",
        fix="Return tensors only; keep other values in `ctx`.",
        example="""
            class Pair(paddle.autograd.PyLayer):
                @staticmethod
                def forward(ctx, x):
                    return x * 2, "twice"

                @staticmethod
                def backward(ctx, g):
                    return g * 2

            @paddle.jit.to_static
            def f(x):
                return Pair.apply(x)

            f(paddle.to_tensor([1.0], stop_gradient=False))
        """,
    ),
    syntax(
        "U19",
        "An object of unknown origin",
        cause="An object comes out of code that is not traced, so that it cannot be told whether this call has made "
        "it, and each run has to make its own.",
        fix="Make it outside, or by calling its class.",
        example="""
            import copyreg

            class Box:
                pass

            @paddle.jit.to_static
            def f(x):
                made = copyreg.__newobj__(Box)
                made.value = x
                return made

            f(paddle.ones([1]))
        """,
    ),
    syntax(
        "U23",
        "A write to what may be a tensor of which a detached one is in use",
        cause="`detach()` shares the values of its tensor, and a write in place shows in both. Of which tensor one is "
        "detached, or whether of any, turns of a loop on a tensor have chosen.",
        fix="Clone what is detached: `x.detach().clone()`.",
        example="""
            @paddle.jit.to_static
            def f(x, n):
                y = x * 2
                fixed = x.detach()
                while n > 0:
                    fixed, n = y.detach(), n - 1
                y.add_(x)
                return y * fixed

            f(paddle.to_tensor([1.0], stop_gradient=False), paddle.to_tensor(1))
        """,
        fixed="""
            @paddle.jit.to_static
            def f(x, n):
                y = x * 2
                fixed = x.detach()
                while n > 0:
                    fixed, n = y.detach().clone(), n - 1
                y.add_(x)
                return y * fixed

            f(paddle.to_tensor([1.0], stop_gradient=False), paddle.to_tensor(1))
        """,
    ),
    syntax(
        "U24",
        "A write with a gradient to a tensor from outside",
        cause="A write in place to a tensor of the caller through which a gradient flows would change its history "
        "outside of the Program.",
        fix="Write to a clone of it and return that.",
        example="""
            @paddle.jit.to_static
            def shift(y):
                y.add_(paddle.ones([1]))
                return y * 2

            x = paddle.to_tensor([1.0], stop_gradient=False)
            shift(x * 3)
        """,
        fixed="""
            @paddle.jit.to_static
            def shift(y):
                y = y + 1
                return y * 2

            x = paddle.to_tensor([1.0], stop_gradient=False)
            shift(x * 3)
        """,
    ),
    syntax(
        "U26",
        "A loaded Layer inside of a static function",
        cause="What `paddle.jit.load` gives is a Program already; it cannot become part of another.",
        fix="Call it outside of the static function.",
        example="""
            import os
            import tempfile

            spec = [paddle.static.InputSpec([1, 2])]
            with tempfile.TemporaryDirectory() as folder:
                place = os.path.join(folder, "model")
                paddle.jit.save(paddle.nn.Linear(2, 2), place, input_spec=spec)
                layer = paddle.jit.load(place)

            @paddle.jit.to_static
            def f(x):
                return layer(x)

            f(paddle.ones([1, 2]))
        """,
    ),
    syntax(
        "U28",
        "A class made inside whose making does something",
        cause="A base with `__init_subclass__`, or a metaclass, runs code of yours when a class is made from it. That "
        "code is not traced.",
        fix="Make the class outside of the static function.",
        example="""
            class Registered:
                known = []

                def __init_subclass__(cls):
                    Registered.known.append(cls)

            @paddle.jit.to_static
            def f(x):
                class Scaled(Registered):
                    scale = 2.0

                return x * Scaled.scale

            f(paddle.ones([1, 2]))
        """,
    ),
    syntax(
        "U31",
        "A function that looks at frames, or at the exception that is being handled",
        cause="`sys._getframe`, `inspect.stack`, `traceback.format_exc` and the like show what is running: in a "
        "Program, other frames.",
        fix="Use the exception itself (`except ... as error`), or keep the function eager with `not_to_static`.",
        example="""
            import traceback

            @paddle.jit.to_static
            def f(x):
                try:
                    raise ValueError("no")
                except ValueError:
                    print(traceback.format_exc())
                return x

            f(paddle.ones([1]))
        """,
    ),
    syntax(
        "U36",
        "A container that holds itself",
        cause="What a function reads of lists, tuples and dicts is compared part by part on each call, and what it "
        "gives to other code is made anew by the run: of a container that is a part of itself there would be no end.  "
        "Objects with attributes may lead back to themselves.",
        fix="Keep the way back in an attribute of an object of your own.",
        example="""
            nodes = [1.0]
            nodes.append(nodes)

            @paddle.jit.to_static
            def f(x):
                return x * nodes[0]

            f(paddle.ones([1]))
        """,
        fixed="""
            class Node:
                pass

            node = Node()
            node.value, node.next = 1.0, node

            @paddle.jit.to_static
            def f(x):
                return x * node.next.value

            f(paddle.ones([1]))
        """,
    ),
    syntax(
        "U37",
        "An object that is taken for an array or a number",
        cause="Functions on tensors ask an object for what it is by `__array__`, `__float__`, `__len__` and "
        "`__getitem__`.  They would do so while the function is traced, and see nothing of later changes.",
        fix="Give a tensor, a NumPy array, or a number made of it by `float()`.",
        example="""
            class Reading:
                scale = 2.0

                def __float__(self):
                    return self.scale

            reading = Reading()

            @paddle.jit.to_static
            def f(x):
                return x * paddle.full([1], reading)

            f(paddle.ones([1]))
        """,
        fixed="""
            class Reading:
                scale = 2.0

                def __float__(self):
                    return self.scale

            reading = Reading()

            @paddle.jit.to_static
            def f(x):
                return x * paddle.full([1], float(reading))

            f(paddle.ones([1]))
        """,
    ),
    syntax(
        "U41",
        "`detect_anomaly` in a static function",
        cause="What stands in the block becomes part of a Program; a run checks all that it computes, or nothing.",
        fix="Enter it around the call of the static function, or around its backward.",
        example="""
            @paddle.jit.to_static
            def f(x):
                with paddle.autograd.detect_anomaly():
                    return (x - x).log()

            f(paddle.to_tensor([1.0]))
        """,
        fixed="""
            @paddle.jit.to_static
            def f(x):
                return x.log()

            with paddle.autograd.detect_anomaly():
                f(paddle.to_tensor([1.0]))
        """,
    ),
    syntax(
        "U42",
        "A class or cache made inside that leaves",
        cause="A class, a cached function or a descriptor that each call makes anew holds or uses tensors or "
        "containers of the call: whoever gets it would see what stood for them while the function was traced.",
        fix="Make it outside, and give what it needs to its objects, or to its functions as arguments.",
        example="""
            @paddle.jit.to_static
            def f(x):
                class Scaled:
                    factor = x * 2

                return Scaled

            f(paddle.ones([1]))
        """,
        fixed="""
            class Scaled:
                def __init__(self, factor):
                    self.factor = factor

            @paddle.jit.to_static
            def f(x):
                return Scaled(x * 2)

            f(paddle.ones([1]))
        """,
    ),
    syntax(
        "U40",
        "An object with `__del__` made inside",
        cause="Python calls `__del__` when nobody has the object any more. While a function is traced that is at "
        "another time than in the run, and the effects of the method would be lost.",
        fix="Make the object outside, or call what `__del__` does by a name of its own, or in a `with` statement.",
        example="""
            closed = []

            class Resource:
                def __del__(self):
                    closed.append(self)

            @paddle.jit.to_static
            def f(x):
                resource = Resource()
                return x * 2

            f(paddle.ones([1]))
        """,
        fixed="""
            closed = []

            class Resource:
                def close(self):
                    closed.append(self)

            @paddle.jit.to_static
            def f(x):
                resource = Resource()
                resource.close()
                return x * 2

            f(paddle.ones([1]))
        """,
    ),
    syntax(
        "U39",
        "A Layer or parameter made in a loop",
        cause="A Layer of your own, a parameter or a buffer is made in a static function, in code that is traced once "
        "for many turns, or several times for one. Each turn would need its own.",
        fix="Make it outside. In a function that makes one anew in each call, make it before the loop or condition.",
        example="""
            @paddle.jit.to_static
            def f(x):
                while x.sum() < 10:
                    x = x + paddle.nn.Linear(1, 1)(x) ** 2 + 1
                return x

            f(paddle.ones([1, 1]))
        """,
        fixed="""
            net = paddle.nn.Linear(1, 1)

            @paddle.jit.to_static
            def f(x):
                while x.sum() < 10:
                    x = x + net(x) ** 2 + 1
                return x

            f(paddle.ones([1, 1]))
        """,
    ),
    syntax(
        "U38",
        "A Layer from outside that is written as a whole",
        cause="`set_state_dict()`, `to(dtype=...)` and the like write to all tensors of a Layer at once, which are "
        "older than the call; what a `LayerList`, `LayerDict` or `ParameterList` from outside holds may not change.",
        fix="Call it outside of the static function. Single tensors can be written by `set_value()`.",
        example="""
            net = paddle.nn.Linear(1, 1)
            start = net.state_dict()

            @paddle.jit.to_static
            def f(x):
                net.set_state_dict(start)
                return net(x)

            f(paddle.ones([1]))
        """,
        fixed="""
            net = paddle.nn.Linear(1, 1)
            start = net.state_dict()

            @paddle.jit.to_static
            def f(x):
                return net(x)

            net.set_state_dict(start)
            f(paddle.ones([1]))
        """,
    ),
)
