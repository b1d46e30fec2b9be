"""Control flow that cannot become a graph: loops, branches, recursion, iterators, context managers."""

from d2s.catalogue.kind import Family

syntax = Family("UnsupportedSyntaxError")

KINDS = (
    syntax(
        "U02",
        "backward() in a loop on a tensor",
        cause="`backward()` is called in a loop whose turns are known only when the Program runs.",
        fix="Call it after the loop, or loop outside of the static function.",
        example="""
            @paddle.jit.to_static
            def descend(x):
                while x.sum() > 1:
                    (x * x).backward()
                    x = x / 2
                return x

            descend(paddle.to_tensor([2.0], stop_gradient=False))
        """,
    ),
    syntax(
        "U06",
        "May raise inside of try",
        cause="The statement may raise when the Program runs, and then the `try` around it is no longer there to "
        "catch it.",
        fix="Do it before the `try`, or keep the function eager.",
        example="""
            @paddle.jit.not_to_static
            def checked(x):
                if x.item() <= 0:
                    raise ValueError("not positive")
                return x

            @paddle.jit.to_static
            def f(x):
                try:
                    return checked(x)
                except ValueError:
                    return -x

            f(paddle.ones([1]))
        """,
        fixed="""
            @paddle.jit.to_static
            def f(x):
                if x.sum() <= 0:
                    return -x
                return x

            f(paddle.ones([1]))
        """,
    ),
    syntax(
        "U07",
        "Recursion that ends on a tensor",
        cause="The function calls itself until a tensor has some value: how deep is known only when the Program runs.",
        fix="Write it as a `while` loop.",
        example="""
            @paddle.jit.to_static
            def halve(x):
                if x.sum() > 1:
                    return halve(x / 2)
                return x

            halve(paddle.to_tensor([8.0]))
        """,
        fixed="""
            @paddle.jit.to_static
            def halve(x):
                while x.sum() > 1:
                    x = x / 2
                return x

            halve(paddle.to_tensor([8.0]))
        """,
    ),
    syntax(
        "U11",
        "Too many ways through the code",
        cause="Branches on tensors leave Python objects that cannot be merged into one value (lists of different "
        "lengths, for example), so every way is followed to its end; there are too many.",
        fix="Use tensor operators such as `where`, or write a `while` on a tensor.",
        example="""
            @paddle.jit.to_static
            def positive(x):
                found = []
                for i in range(12):
                    if x[i] > 0:
                        found.append(i)
                return found

            positive(paddle.ones([12]))
        """,
        fixed="""
            @paddle.jit.to_static
            def positive(x):
                return paddle.nonzero(x > 0)

            positive(paddle.ones([12]))
        """,
    ),
    syntax(
        "U15",
        "An iterator from outside",
        cause="The trace would use up the iterator, and the next call would find nothing in it.",
        fix="Pass a list of its items.",
        example="""
            @paddle.jit.to_static
            def total(numbers, x):
                for number in numbers:
                    x = x + number
                return x

            total(iter([1, 2]), paddle.zeros([1]))
        """,
        fixed="""
            @paddle.jit.to_static
            def total(numbers, x):
                for number in numbers:
                    x = x + number
                return x

            total([1, 2], paddle.zeros([1]))
        """,
    ),
    syntax(
        "U16",
        "An iterator is advanced in code that is traced several times",
        cause="Both ways of a branch on a tensor, and the turns of a loop on one, are traced more than once, and an "
        "iterator cannot be put back.",
        fix="Use a list and an index, or make the iterator in the turn.",
        example="""
            @paddle.jit.to_static
            def f(x):
                numbers = iter([1, 2, 3])
                while x.sum() > 1:
                    x = x / 2 - next(numbers)
                return x

            f(paddle.to_tensor([8.0]))
        """,
    ),
    syntax(
        "U17",
        "A Python loop without end",
        cause="A `for` over an endless iterator other than `itertools.count()` whose `break` depends on a tensor.",
        fix="Write it as `while` with a counter.",
        example="""
            import itertools

            @paddle.jit.to_static
            def f(x):
                for _ in itertools.repeat(None):
                    if x.sum() < 1:
                        break
                    x = x / 2
                return x

            f(paddle.to_tensor([8.0]))
        """,
        fixed="""
            import itertools

            @paddle.jit.to_static
            def f(x):
                for _ in itertools.count():
                    if x.sum() < 1:
                        break
                    x = x / 2
                return x

            f(paddle.to_tensor([8.0]))
        """,
    ),
    syntax(
        "U18",
        "range() with a step that is a tensor",
        cause="The sign of the step decides how a `range` ends, so it has to be known while tracing.",
        fix="Write a `while` loop.",
        example="""
            @paddle.jit.to_static
            def f(x, step):
                for i in range(0, 10, step):
                    x = x + i
                return x

            f(paddle.ones([1]), paddle.to_tensor(2))
        """,
        fixed="""
            @paddle.jit.to_static
            def f(x, step):
                i = paddle.to_tensor(0)
                while i < 10:
                    x = x + i
                    i = i + step
                return x

            f(paddle.ones([1]), paddle.to_tensor(2))
        """,
    ),
    syntax(
        "U20",
        "A generator leaves the function",
        cause="A generator or iterator that was made inside of a static function is returned or stored. Its code "
        "would run after the Program.",
        fix="Make a list of it.",
        example="""
            @paddle.jit.to_static
            def rows(x):
                return (row for row in x)

            rows(paddle.ones([2, 2]))
        """,
        fixed="""
            @paddle.jit.to_static
            def rows(x):
                return [row for row in x]

            rows(paddle.ones([2, 2]))
        """,
    ),
    syntax(
        "U21",
        "A loop whose variables change their kind",
        cause="A loop on a tensor carries its variables from turn to turn: tensors, numbers, None that becomes a "
        "tensor, and lists that grow by elements of one kind. Texts and other objects that change cannot be carried.",
        fix="Give every variable one kind of value in all turns.",
        example="""
            @paddle.jit.to_static
            def halves(x):
                word = "a"
                while x.sum() > 1:
                    x = x / 2
                    word = word + "a"
                return word

            halves(paddle.to_tensor([8.0]))
        """,
        fixed="""
            @paddle.jit.to_static
            def halves(x):
                words = ["a"]
                while x.sum() > 1:
                    x = x / 2
                    words.append("a")
                return words

            halves(paddle.to_tensor([8.0]))
        """,
    ),
    syntax(
        "U25",
        "A context manager of the run",
        cause="What `with` enters is known only when the Program runs, for example an open file.",
        fix="Enter it outside of the static function.",
        example="""
            import os

            @paddle.jit.to_static
            def f(x):
                with open(os.devnull) as file:
                    return x

            f(paddle.ones([1]))
        """,
        fixed="""
            import os

            @paddle.jit.to_static
            def f(x):
                return x

            with open(os.devnull) as file:
                f(paddle.ones([1]))
        """,
    ),
    syntax(
        "U27",
        "async def",
        cause="A coroutine runs in pieces, at times that its event loop chooses; a Program runs at once.",
        fix="Convert a plain function that the coroutine calls.",
        example="""
            @paddle.jit.to_static
            async def f(x):
                return x
        """,
        fixed="""
            @paddle.jit.to_static
            def double(x):
                return 2 * x

            async def f(x):
                return double(x)
        """,
    ),
)
